// Pager: long lists in pages.
//
//   Pager<Pod> pods(client.Resource<Pod>(), ctx, {.label_selector = "app=web"});
//   for (const Result<Pod>& pod : pods) {
//     if (!pod) return pod.error();           // the last one of the range
//     ...
//   }
//
//   Result<ObjectList<Pod>> all = ListAllPages(client.Resource<Pod>(), ctx, {});     // pages on the wire, one list here
//
// Pages are read as they are needed; one page is in memory at a time. All pages show the same moment. A range that takes so long that the
// server forgets that moment ends with IsResourceExpired; ListAllPages then reads everything once more in one go.
//
// Thread safety: one thread.
// Lifetime: holds the ResourceClient and the context. Iterators belong to their Pager, and what they point to is there until the next ++.
// Blocking and cancellation: where the next page is needed, until it is there or the context stops.
// Errors: those of ResourceClient::List; the range is over after one.
// Cost: one request for each page of 500 (ListOptions::limit changes that).
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/resource_client.h"

namespace kube {

inline constexpr std::int64_t kDefaultPageSize = 500;

namespace internal {
// The options of the next page: `continue` alone says which moment is meant, so the resource version and its match go.
inline void NextPage(ListOptions& options, const meta::v1::ListMeta& page) {
  options.continue_token = page.continue_.str();
  options.resource_version.clear();
  options.resource_version_match.clear();
}
}  // namespace internal

template <ObjectType T>
class Pager {
 public:
  Pager(ResourceClient<T> resource, Context ctx, ListOptions options = {})
      : resource_(std::move(resource)), ctx_(std::move(ctx)), options_(std::move(options)) {
    if (options_.limit == 0) options_.limit = kDefaultPageSize;
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Result<T>;
    using difference_type = std::ptrdiff_t;
    using pointer = const Result<T>*;
    using reference = const Result<T>&;

    Iterator() = default;
    reference operator*() const { return *pager_->current_; }
    pointer operator->() const { return &*pager_->current_; }
    Iterator& operator++() {
      if (!pager_->Advance()) pager_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.pager_ == b.pager_; }

   private:
    friend class Pager;
    explicit Iterator(Pager* pager) : pager_(pager) {}
    Pager* pager_ = nullptr;  // null: the end
  };

  // Reads the first page. A range can be walked once.
  Iterator begin() { return Advance() ? Iterator(this) : Iterator(); }
  Iterator end() { return Iterator(); }

  // The next page, for those who want whole ones; nothing after the last.
  Result<std::optional<ObjectList<T>>> NextPage() {
    if (over_) return std::optional<ObjectList<T>>();
    Result<ObjectList<T>> page = resource_.List(ctx_, options_);
    if (!page) {
      over_ = true;
      return page.error();
    }
    if (page->metadata.continue_.empty()) {
      over_ = true;
    } else {
      internal::NextPage(options_, page->metadata);
    }
    return std::optional<ObjectList<T>>(*std::move(page));
  }

 private:
  bool Advance() {
    while (index_ >= page_.size()) {
      Result<std::optional<ObjectList<T>>> page = NextPage();
      if (!page) {
        page_ = {};
        index_ = 0;
        current_ = page.error();
        return true;
      }
      if (!*page) return false;
      page_ = **std::move(page);
      index_ = 0;
    }
    current_ = std::as_const(page_.items)[index_++];
    return true;
  }

  ResourceClient<T> resource_;
  Context ctx_;
  ListOptions options_;
  bool over_ = false;
  ObjectList<T> page_;
  std::size_t index_ = 0;
  std::optional<Result<T>> current_;
};

// All pages as one list, with the first page's resource version. Where the server has forgotten the moment between two pages, one list at
// the resource version that was asked for, without pages.
template <ObjectType T>
Result<ObjectList<T>> ListAllPages(const ResourceClient<T>& resource, const Context& ctx, const ListOptions& options = {}) {
  ListOptions page_options = options;
  if (page_options.limit == 0) page_options.limit = kDefaultPageSize;
  std::optional<ObjectList<T>> all;
  for (;;) {
    Result<ObjectList<T>> page = resource.List(ctx, page_options);
    if (!page) {
      if (!all || !IsResourceExpired(page.error())) return page.error();
      ListOptions whole = options;
      whole.limit = 0;
      whole.continue_token.clear();
      return resource.List(ctx, whole);
    }
    const meta::v1::ListMeta metadata = page->metadata;
    if (!all) {
      all = *std::move(page);
    } else {
      for (auto& item : page->items) all->items.push_back(std::move(item));
    }
    if (metadata.continue_.empty()) break;
    internal::NextPage(page_options, metadata);
  }
  all->metadata.continue_ = {};
  all->metadata.remaining_item_count.reset();
  return *std::move(all);
}

}  // namespace kube
