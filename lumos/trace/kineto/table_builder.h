// Puts parsed blocks together, in file order, to the EventTable of one trace. Owns the names of the trace: they get
// their ids in the order in which the file first says them. Made by trace/reader.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lumos/trace/kineto/distinct.h"
#include "lumos/trace/kineto/event_parser.h"
#include "lumos/trace/table/event_table.h"

namespace lumos {

class TableBuilder {
 public:
  TableBuilder();

  /// Appends the rows of `block`. `progress` in (0, 1] says how much of the file has been read, so that columns are
  /// reserved once instead of growing: reserved memory costs nothing before it is written, copies would.
  void append(const ParsedBlock& block, double progress);

  /// The table with its lanes labelled. What is left in `damage` was found outside of the blocks.
  EventTable finish(const DamageCounts& damage);

  uint64_t rows() const { return table_.size(); }

 private:
  struct OpenHalf {
    uint32_t row = 0;
    NameId name = kNoName;
  };

  void reserve_for_file(const ParsedBlock& block, double progress);
  void map_names(const ParsedBlock& block);
  void map_lanes(const ParsedBlock& block);
  void append_details(const ParsedBlock& block);
  void append_rows(const ParsedBlock& block);
  bool close_half(const ParsedRow& row);
  void put_overlaps_back();
  void label_lanes();
  NameId mapped(NameId local) const { return names_of_block_[static_cast<uint32_t>(local)]; }

  EventTable table_;
  std::shared_ptr<NamePool> names_;
  DamageCounts damage_;
  DistinctIndex gpu_index_;
  DistinctIndex op_index_;
  std::unordered_map<std::string, uint32_t> lanes_;
  std::vector<std::pair<std::string, std::string>> lane_texts_;  // pid and tid
  std::unordered_map<std::string, NameId> labels_;
  std::unordered_map<std::string, std::string> overlap_of_;  // by pid and tid: the tid of the lane that rows belong to
  std::unordered_map<uint32_t, std::vector<OpenHalf>> open_halves_;  // by lane
  std::vector<FlowLink> launches_;
  // From the indexes of the block at hand to those of the table.
  std::vector<NameId> names_of_block_;
  std::vector<uint32_t> lanes_of_block_;
  std::vector<uint32_t> gpu_of_block_;
  std::vector<uint32_t> ops_of_block_;
};

}  // namespace lumos
