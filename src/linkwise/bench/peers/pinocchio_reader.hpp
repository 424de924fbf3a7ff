// A robot as written by pinocchio_native.model_text: gravity, then one line of numbers per body, depth first.
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

inline pinocchio::Model read(std::istream& in) {
  pinocchio::Model model;
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
  if (!in) throw std::invalid_argument("the robot's text is cut short");
  return model;
}

}  // namespace bench
