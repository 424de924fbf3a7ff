// A robot as written by pinocchio_native.model_text: gravity, then one line of numbers per body, depth first, then one per
// frame, and which of the frames is the tip.
#pragma once

#include <istream>
#include <stdexcept>
#include <string>

#include <pinocchio/multibody.hpp>

namespace bench {

inline pinocchio::JointModel joint(const std::string& kind, const Eigen::Vector3d& axis) {
  using namespace pinocchio;
  if (kind == "RX") return JointModelRX();
  if (kind == "RY") return JointModelRY();
  if (kind == "RZ") return JointModelRZ();
  if (kind == "R") return JointModelRevoluteUnaligned(axis);
  if (kind == "PX") return JointModelPX();
  if (kind == "PY") return JointModelPY();
  if (kind == "PZ") return JointModelPZ();
  if (kind == "P") return JointModelPrismaticUnaligned(axis);
  if (kind == "free") return JointModelFreeFlyer();
  if (kind == "spherical") return JointModelSpherical();
  throw std::invalid_argument("no joint of kind " + kind);
}

template <int rows, int columns>
Eigen::Matrix<double, rows, columns> numbers(std::istream& in) {
  Eigen::Matrix<double, rows, columns> out;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) in >> out(i, j);
  return out;
}

struct Read {
  pinocchio::Model model;
  pinocchio::FrameIndex tip = 0;
};

inline Read read(std::istream& in) {
  Read found;
  auto& model = found.model;
  int bodies;
  in >> bodies;
  model.gravity.linear() = numbers<3, 1>(in);
  for (int k = 1; k <= bodies; k++) {
    int parent;
    std::string kind;
    in >> parent >> kind;
    const auto axis = numbers<3, 1>(in);
    const auto R = numbers<3, 3>(in);
    const auto p = numbers<3, 1>(in);
    double mass;
    in >> mass;
    const auto com = numbers<3, 1>(in);
    const auto tensor = numbers<3, 3>(in);
    const auto index = model.addJoint(parent, joint(kind, axis), pinocchio::SE3(R, p), "j" + std::to_string(k));
    model.appendBodyToJoint(index, pinocchio::Inertia(mass, com, tensor), pinocchio::SE3::Identity());
  }
  int frames, tip;
  in >> frames >> tip;
  for (int k = 0; k < frames; k++) {
    int body;
    in >> body;
    const auto R = numbers<3, 3>(in);
    const auto p = numbers<3, 1>(in);
    const pinocchio::Frame frame("f" + std::to_string(k), body, 0, pinocchio::SE3(R, p), pinocchio::OP_FRAME);
    const auto index = model.addFrame(frame, false);
    if (k == tip) found.tip = index;
  }
  if (!in) throw std::invalid_argument("the robot's text is cut short");
  return found;
}

}  // namespace bench
