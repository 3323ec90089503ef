// IndexedHeap: a binary heap whose elements know their place, so that one in the middle can be moved or removed.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace kube::internal {

// The first by `Before` is at the top. Element needs a member `heap_index`. Owns nothing. Thread safety: none.
template <typename Element, typename Before>
class IndexedHeap {
 public:
  bool empty() const { return elements_.empty(); }
  std::size_t size() const { return elements_.size(); }
  Element* top() const { return elements_.front(); }
  Element* at(std::size_t i) const { return elements_[i]; }

  void Push(Element* element) {
    elements_.push_back(element);
    element->heap_index = elements_.size() - 1;
    Up(element->heap_index);
  }
  void Remove(Element* element) {
    const std::size_t hole = element->heap_index;
    Element* last = elements_.back();
    elements_.pop_back();
    if (last == element) return;
    Put(hole, last);
    Update(last);
  }
  // After its order changed.
  void Update(Element* element) {
    Up(element->heap_index);
    Down(element->heap_index);
  }
  // All of them, in no order.
  std::vector<Element*> Clear() { return std::exchange(elements_, {}); }

 private:
  void Put(std::size_t i, Element* element) {
    elements_[i] = element;
    element->heap_index = i;
  }
  void Up(std::size_t i) {
    Element* element = elements_[i];
    for (; i > 0; i = (i - 1) / 2) {
      Element* parent = elements_[(i - 1) / 2];
      if (!Before()(*element, *parent)) break;
      Put(i, parent);
    }
    Put(i, element);
  }
  void Down(std::size_t i) {
    Element* element = elements_[i];
    for (;;) {
      std::size_t child = 2 * i + 1;
      if (child >= elements_.size()) break;
      if (child + 1 < elements_.size() && Before()(*elements_[child + 1], *elements_[child])) ++child;
      if (!Before()(*elements_[child], *element)) break;
      Put(i, elements_[child]);
      i = child;
    }
    Put(i, element);
  }

  std::vector<Element*> elements_;
};

}  // namespace kube::internal
