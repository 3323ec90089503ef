// Pager: reads long lists page by page.
//
//   Pager<Pod> pods(client.Resource<Pod>(), ctx, {.label_selector = "app=web"});
//   for (const Result<Pod>& pod : pods) {
//     if (!pod) return pod.error();           // an error is always the last element
//     ...
//   }
//
//   Result<ObjectList<Pod>> all = ListAllPages(client.Resource<Pod>(), ctx, {});     // pages on the wire, one list here
//
// Pages are fetched on demand; one page is in memory at a time. All pages come from the same snapshot. If iteration takes so long that the
// server has compacted the snapshot, the range ends with IsResourceExpired; ListAllPages then reads everything again in one request.
//
// Thread safety: one thread.
// Lifetime: holds the ResourceClient and the context. Iterators belong to their Pager; the element they point to is valid until the next
//   ++.
// Blocking and cancellation: blocks while a page is fetched, until it arrives or the context stops.
// Errors: those of ResourceClient::List; an error ends the range.
// Cost: one request per page of 500 (change it with ListOptions::limit).
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

// The page size if ListOptions::limit is 0.
inline constexpr std::int64_t kDefaultPageSize = 500;

namespace internal {
// Sets the options for the next page. The `continue` token identifies the snapshot, so the resource version and its match are cleared.
inline void NextPage(ListOptions& options, const meta::v1::ListMeta& page) {
  options.continue_token = page.continue_.str();
  options.resource_version.clear();
  options.resource_version_match.clear();
}
}  // namespace internal

// A list as a single-pass range of Result<T>. Usage is shown at the top of this file.
template <ObjectType T>
class Pager {
 public:
  Pager(ResourceClient<T> resource, Context ctx, ListOptions options = {})
      : resource_(std::move(resource)), ctx_(std::move(ctx)), options_(std::move(options)) {
    if (options_.limit == 0) options_.limit = kDefaultPageSize;
  }

  // An input iterator over the objects of all pages.
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
    Pager* pager_ = nullptr;  // null: at the end
  };

  // Fetches the first page. The range can be iterated only once.
  Iterator begin() { return Advance() ? Iterator(this) : Iterator(); }
  Iterator end() { return Iterator(); }

  // The next page as a whole; nothing after the last one.
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

// Reads all pages into one list with the resource version of the first page. If the snapshot expires between two pages, reads everything
// again in one request without pages, at the resource version that `options` asked for.
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
