#include "verify/report/html_sections.h"

namespace octlm::verify::html {

// System fonts, and colours that hold 4.5:1 on both backgrounds. Verdicts differ by symbol and
// word; colour only repeats them.
Markup style() {
  return R"(
:root{color-scheme:light dark;--bg:#fcfcfa;--card:#fff;--ink:#1b1d21;--quiet:#5f656e;--line:#e2e3e0;
--soft:#f2f2ef;--pass:#1a6b42;--fail:#b0201c;--error:#8a5200;--unc:#55508f;--pass-bg:#e8f3ec;
--fail-bg:#fbe9e7;--error-bg:#fbf0dd;--unc-bg:#eeedf8;--hatch:#dedfdb;--accent:#2b5fa8}
@media(prefers-color-scheme:dark){:root{--bg:#131519;--card:#191c21;--ink:#e6e7e9;--quiet:#9aa1ab;
--line:#2c3037;--soft:#20242a;--pass:#6fcf97;--fail:#ff8a80;--error:#f0b35a;--unc:#b3adf0;
--pass-bg:#16291f;--fail-bg:#381b1b;--error-bg:#33270f;--unc-bg:#24223b;--hatch:#2d3138;
--accent:#86b3f2}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main{max-width:1240px;margin:0 auto;padding:22px 24px 60px}
td,th,dd,code,bdi,q,li{unicode-bidi:isolate}
header{margin-bottom:12px}
h1{font-size:23px;line-height:1.28;font-weight:600;margin:6px 0 4px;letter-spacing:-.01em}
h2{font-size:12.5px;font-weight:600;margin:0 0 6px;color:var(--quiet)}
h3{font-size:15px;font-weight:600;margin:0 0 6px}
h4{font-size:13px;font-weight:600;margin:14px 0 4px;color:var(--quiet)}
p{margin:0 0 6px}
section{margin:0 0 12px;padding-top:9px;border-top:1px solid var(--line)}
hr{border:0;height:26px;margin:0}
.overall{display:flex;flex-wrap:wrap;gap:4px 14px;align-items:center;color:var(--quiet);margin:0}
.unchecked{font-size:16px;margin:0 0 4px}
.why,.legend,.quiet,small{color:var(--quiet)}
.why,.legend{font-size:12.5px;margin:4px 0 0}
small{display:block;font-size:11px;line-height:1.25;font-weight:400}
code,pre{font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{margin:0;padding:8px 12px;background:var(--soft);border-radius:6px;white-space:pre-wrap}
q{quotes:"“" "”"}
.badge{display:inline-block;white-space:nowrap;font-weight:600;font-size:12.5px;
padding:1px 9px 1px 8px;border-radius:99px;border:1px solid}
.badge i{font-style:normal}
.pass{color:var(--pass);background:var(--pass-bg)}
.fail{color:var(--fail);background:var(--fail-bg)}
.error{color:var(--error);background:var(--error-bg)}
.uncounted{color:var(--unc);background:var(--unc-bg)}
.not-run{color:var(--quiet);background:var(--soft)}
.pass-ink{color:var(--pass)}.fail-ink{color:var(--fail)}
.scroll{overflow-x:auto;max-width:100%;position:relative}
table{border-collapse:collapse;font-size:12.5px;overflow-wrap:break-word}
th,td{padding:4px 9px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th,table.plain th,tbody th{font-weight:600}
thead th{color:var(--quiet);font-size:11.5px;vertical-align:bottom}
.n{text-align:right;white-space:nowrap}
td.v{background:none;white-space:nowrap;font-weight:600}
.grid{width:100%;overflow-wrap:normal}
.grid th,.grid td{padding:3px 4px;text-align:center;vertical-align:middle;
border:1px solid var(--line);font-size:12px;line-height:1.3}
.grid th[scope=row]{text-align:left;white-space:nowrap;max-width:210px;overflow:hidden;
text-overflow:ellipsis;position:sticky;left:0;background:var(--bg)}
.grid thead td{border:0;position:sticky;left:0;background:var(--bg)}
.grid .path{font-weight:500;min-width:44px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.grid .c{white-space:nowrap;font-weight:600}.grid .edge{white-space:nowrap}
.grid .c small{color:inherit}
.hatched{color:var(--quiet);font-weight:400!important;font-size:11px;
background:repeating-linear-gradient(135deg,transparent 0 5px,var(--hatch) 5px 6px)}
.key{display:flex;flex-wrap:wrap;gap:2px 18px;margin:0 0 4px}
.key i{font-style:normal;font-weight:700}
.k-floor{color:var(--accent)}.k-measured,.k-bound{color:var(--ink)}
.rule{display:grid;grid-template-columns:235px minmax(120px,1fr) 126px 76px 112px 112px;
gap:0 14px;align-items:center;font-size:12.5px}
.rule .who{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.rule .num{text-align:right;white-space:nowrap}
.rule i{font-style:normal}
.ruler{display:block;overflow:visible}
.s-tightest,.s-trust,.s-changes,.s-command{display:grid;grid-template-columns:130px 1fr;gap:0 18px}
.s-tightest>h2,.s-trust>h2,.s-changes>h2,.s-command>h2{grid-row:1/9;line-height:1.5}
.s-tightest>*,.s-trust>*,.s-changes>*,.s-command>*{grid-column:2;min-width:0}
.s-tightest>h2,.s-trust>h2,.s-changes>h2,.s-command>h2{grid-column:1}
.ruler .tick{stroke:var(--line)}.ruler .axis{stroke:var(--line)}
.ruler .reach{stroke:var(--ink);stroke-width:2;opacity:.35}
.ruler .over{fill:var(--fail);opacity:.09}
.ruler .bound{stroke:var(--ink);stroke-width:2}
.ruler .floor{fill:var(--bg);stroke:var(--accent);stroke-width:2}
.ruler .measured{fill:var(--ink)}
.ruler .label{fill:var(--quiet);font-size:11px}
dl{display:flex;flex-wrap:wrap;gap:4px 26px;margin:4px 0}
dt{font-size:11.5px;color:var(--quiet)}
dd{margin:0}
.s-trust dl,.s-tightest dl{margin:0;column-gap:17px}
.chain dl{display:block}
.chain dl div{display:grid;grid-template-columns:130px 1fr;gap:0 14px;padding:1px 0}
.chain dt{font-size:12.5px;line-height:1.6}
.panel{padding:10px 14px;border-radius:6px;margin:0 0 8px;color:var(--ink);
border-left:3px solid var(--fail)}
.panel.error{border-color:var(--error)}
.panel .badge{background:none}
.lists th,.lists td{padding:2px 9px 2px 0;text-align:left;white-space:nowrap}
.lists .apart{color:var(--fail);font-weight:600}.lists small{color:inherit}
.panel h4{margin:8px 0 2px;font-size:13px}
.pair{display:flex;flex-wrap:wrap;gap:6px 40px;margin:6px 0}
caption{text-align:left;font-size:12px;color:var(--quiet);padding:0 9px}
.alone td{color:var(--error)}
details{margin:4px 0}
summary{cursor:pointer;color:var(--accent);width:fit-content}
summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.block{border-bottom:1px solid var(--line);margin:0;padding:5px 0}
.block>summary{width:auto;color:var(--ink)}
.experiment{content-visibility:auto;contain-intrinsic-size:auto 34px}
.experiment .title{margin-right:10px}
ul{margin:2px 0;padding-left:18px}
a{color:inherit;text-decoration:underline dotted;text-underline-offset:2px}
.grid .c a{display:block;text-decoration:none}a:focus-visible{outline:2px solid var(--accent)}
.experiment:target{background:var(--soft)}
.experiment:target::details-content{content-visibility:visible;block-size:auto}
.chart{display:block;box-sizing:border-box;width:100%;overflow:visible;
padding:20px 84px 24px 40px}
.chart.lines{height:244px}.chart.bars{height:146px;padding-top:40px;padding-bottom:22px}
.chart text{font-size:11px;fill:var(--quiet);font-variant-numeric:tabular-nums;white-space:pre}
.chart .tick,.chart .axis{stroke:var(--line)}
.chart .bound{stroke:var(--ink);stroke-width:1.5}
.chart .floor-line{stroke:var(--accent);stroke-width:1.5;stroke-dasharray:5 3}
.chart .split{stroke:var(--quiet);stroke-width:1.5}
.chart polyline{fill:none;stroke:var(--accent);stroke-width:1;opacity:.55;
vector-effect:non-scaling-stroke}
.chart polyline.bad{stroke:var(--fail);stroke-width:2.4;opacity:.9}
.chart .cross{fill:var(--fail);font-size:13px;font-weight:700}
.all-series{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(340px,100%),1fr));
gap:12px 28px}
.series h3,.series p{margin:0 0 2px}.series p{font-size:12.5px}
.history{display:block;box-sizing:border-box;width:100%;height:96px;overflow:visible;
padding:10px 8px 24px 46px}
.history text{font-size:11px;fill:var(--quiet)}.history a text{font-size:14px;font-weight:700}
.history .bound{stroke:var(--ink);stroke-width:1.5}.history .tick{stroke:var(--line)}
.history .pass-ink{fill:var(--pass)}.history .fail-ink{fill:var(--fail)}
.history .error-ink{fill:var(--error)}.history .uncounted-ink{fill:var(--unc)}
.chart .bar{fill:var(--accent);opacity:.5}
@media(max-width:760px){main{padding:14px 14px 40px}h1{font-size:19px}.unchecked{font-size:14.5px}
.rule{grid-template-columns:1fr 1fr;gap:0 10px;margin-bottom:10px}.rule .num{text-align:left}
.rule .who,.rule .ruler{grid-column:1/3}.grid .edge{text-align:left}.axis-row span{display:none}
.grid th[scope=row]{min-width:96px;max-width:112px;white-space:normal;overflow-wrap:anywhere;
font-size:11.5px}dl{gap:4px 18px}
.s-tightest,.s-trust,.s-changes,.s-command,.chain dl div{display:block}.panel{padding:10px}
.chart{padding-left:34px;padding-right:76px}}
@media print{.scroll{overflow:visible}.experiment{content-visibility:visible}}
)";
}

}  // namespace octlm::verify::html
