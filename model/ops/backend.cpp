#include "model/ops/backend.h"

#include <utility>

#include "model/ops/check.h"

namespace octlm::model {
namespace {

void check_copy(const ops::Check& check, const ConstTensorView& host, const ConstTensorView& here) {
  check.shape("host", host, here.shape);
  if (host.dtype != here.dtype) {
    check.fail("host is " + std::string(dtype_name(host.dtype)) + ", expected " +
               std::string(dtype_name(here.dtype)));
  }
}

}  // namespace

Weight Backend::make_weight(ConstTensorView host) {
  const ops::Check check("make_weight", *this);
  check.weight("host", host);
  return place_weight(host);
}

ResidentRopeTable Backend::make_rope_table(ConstTensorView cos, ConstTensorView sin) {
  const ops::Check check("make_rope_table", *this);
  check.rank("cos", cos, 2, "[positions, head_dim / 2]");
  check.shape("sin", sin, cos.shape);
  for (const auto& [name, table] : {std::pair{"cos", cos}, std::pair{"sin", sin}}) {
    if (table.dtype != DType::kFloat32) {
      check.fail(std::string(name) + " is " + std::string(dtype_name(table.dtype)) +
                 ", expected float32");
    }
    check.weight(name, table);
  }
  return place_rope_table(cos, sin);
}

void Backend::upload(ConstTensorView host, TensorView here) {
  check_copy(ops::Check("upload", *this), host, here);
  copy_in(host.data, here.data, here.bytes());
}

void Backend::download(ConstTensorView here, TensorView host) {
  check_copy(ops::Check("download", *this), host, here);
  copy_out(here.data, host.data, here.bytes());
}

ConstTensorView Backend::on_host(ConstTensorView here, std::vector<std::byte>& room) {
  room.resize(here.bytes());
  copy_out(here.data, room.data(), here.bytes());
  return {room.data(), here.dtype, here.shape};
}

}  // namespace octlm::model
