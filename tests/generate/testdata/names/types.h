// +groupName=names.example.com
#pragma once

#include <kube/kind.h>

namespace names::v1 {

struct Policy {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Policy);
};

struct Index {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Index);
};

struct Bus {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Bus);
};

struct Gateway {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Gateway);
};

struct Class {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Class);
};

struct Proxy {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Proxy);
};

struct Analysis {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Analysis);
};

struct HTTPRoute {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(HTTPRoute);
};

struct NetworkPolicy {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(NetworkPolicy);
};

struct Series {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Series);
};

struct Knife {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Knife);
};

struct Leaf {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Leaf);
};

struct Hero {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Hero);
};

struct Photo {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Photo);
};

struct Status {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Status);
};

struct Box {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Box);
};

struct Branch {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Branch);
};

struct Wish {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Wish);
};

struct Data {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Data);
};

struct Metadata {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Metadata);
};

struct Person {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Person);
};

struct Child {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Child);
};

struct Ingress {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Ingress);
};

struct Endpoints {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Endpoints);
};

struct DNS {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(DNS);
};

struct Alias {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Alias);
};

struct Matrix {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Matrix);
};

struct Quota {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Quota);
};

struct Repository {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Repository);
};

struct Key {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Key);
};

struct Cache {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Cache);
};

struct House {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(House);
};

struct Quiz {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Quiz);
};

struct Scenario {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Scenario);
};

struct Basis {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Basis);
};

struct Database {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Database);
};

struct Spectrum {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Spectrum);
};

struct Criterion {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Criterion);
};

struct Mouse {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Mouse);
};

struct Human {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Human);
};

struct Radius {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Radius);
};

struct Hypothesis {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Hypothesis);
};

struct Logo {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Logo);
};

struct Potato {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Potato);
};

struct Media {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Media);
};

struct News {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(News);
};

struct Schema {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Schema);
};

struct Kubernetes {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Kubernetes);
};

struct Bundle {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Bundle);
};

struct Release {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Release);
};

struct Switch {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Switch);
};

struct ClusterClass {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(ClusterClass);
};

struct Axis {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Axis);
};

struct VirtualMachine {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(VirtualMachine);
};

struct Mesh {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Mesh);
};

struct Video {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Video);
};

struct Piano {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Piano);
};

struct Fish {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Fish);
};

}  // namespace names::v1
