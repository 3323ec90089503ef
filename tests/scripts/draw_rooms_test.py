"""scripts/draw-rooms: what it reads in the sources, what it leaves out, and when it refuses to draw.

usage: draw_rooms_test.py PATH_OF_SCRIPT
"""

import importlib.machinery
import importlib.util
import os
import sys
import unittest
import xml.etree.ElementTree

SCRIPT = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.dirname(SCRIPT))
loader = importlib.machinery.SourceFileLoader("draw_rooms", SCRIPT)
draw_rooms = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(draw_rooms)
LAYERS = draw_rooms.load_layers()
SVG = "{http://www.w3.org/2000/svg}"


def no_edges():
    return {room: [] for room in LAYERS.ROOMS}


class DrawRoomsTest(unittest.TestCase):
    def test_includes_of_headers_and_sources_count(self):
        uses = draw_rooms.included_rooms(LAYERS, {
            "include/kube/cache/informer.h": '#include "kube/client/client.h"\n#include "kube/cache/lister.h"\n#include "kube/version.h"\n#include <vector>\n',
            "src/cache/source.cc": '#include "cache/source.h"\n#include "meta/a.h"\n#include <fmt/core.h>\n'})
        self.assertEqual(uses["cache"], {"client", "meta"})
        self.assertEqual(uses["client"], set())

    def test_tests_do_not_count(self):
        texts = {f"src/queue/a{end}": '#include "kube/control/manager.h"\n' for end in ("_test.cc", "_test_util.h", "_test_util.cc", "_benchmark.cc")}
        texts["tests/a.cc"] = '#include "kube/control/manager.h"\n'
        self.assertEqual(draw_rooms.included_rooms(LAYERS, texts)["queue"], set())

    def test_what_follows_from_others_is_left_out(self):
        uses = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set(), "e": {"b", "d"}}
        self.assertEqual(draw_rooms.reduced(uses), {"a": ["b"], "b": ["c"], "c": ["d"], "d": [], "e": ["b"]})

    def test_components(self):
        kinds = draw_rooms.components(["base", "testing", "scaffold"], {"base", "testing"}, "set(_testing_rooms apiserver testing)\n")
        self.assertEqual(kinds, {"base": "library", "testing": "testing", "scaffold": "command"})
        with self.assertRaises(SystemExit):
            draw_rooms.components(["base"], {"base"}, "")

    def test_what_cannot_be_drawn(self):
        paths = [f"src/{room}/folder/{source}" for _, room, source in draw_rooms.PATH]
        self.assertEqual(draw_rooms.misplaced(LAYERS.ROOMS, no_edges(), paths), [])
        self.assertEqual(draw_rooms.misplaced([*LAYERS.ROOMS, "attic"], no_edges(), paths), ["room 'attic' has no place in scripts/draw-rooms"])
        self.assertIn("which is no room", draw_rooms.misplaced(LAYERS.ROOMS[1:], no_edges(), paths)[0])
        self.assertIn("'cache', which has no reflector.h", draw_rooms.misplaced(LAYERS.ROOMS, no_edges(), [path for path in paths if "reflector" not in path])[0])
        self.assertIn("drawn above", draw_rooms.misplaced(LAYERS.ROOMS, {"base": ["control"]}, paths)[0])

    def picture(self, edges):
        kinds = {room: "library" for room in LAYERS.ROOMS}
        return xml.etree.ElementTree.fromstring(draw_rooms.picture(edges, kinds))

    def test_each_room_and_each_arrow_is_drawn_once(self):
        edges = dict(no_edges(), control=["cache", "queue"], meta=["codec"])
        svg = self.picture(edges)
        names = [element.text for element in svg.iter(SVG + "text") if element.get("class") == "name"]
        for room in LAYERS.ROOMS:
            self.assertEqual(names.count(room), 1, room)
        self.assertEqual(sum(element.get("class") == "edge" for element in svg.iter(SVG + "path")), 3)
        self.assertIn("meta includes codec; control includes cache, queue", svg.find(SVG + "title").text)

    def test_boxes_do_not_overlap(self):
        svg = self.picture(no_edges())
        boxes = [tuple(float(rect.get(key)) for key in ("x", "y", "width", "height")) for rect in svg.iter(SVG + "rect") if rect.get("class") != "card"]
        self.assertEqual(len(boxes), len(LAYERS.ROOMS) + len(draw_rooms.PATH) + 3)
        for index, (x, y, width, height) in enumerate(boxes):
            self.assertTrue(x >= 0 and x + width <= float(svg.get("width")) and y + height <= float(svg.get("height")))
            for other_x, other_y, other_width, other_height in boxes[:index]:
                self.assertTrue(x >= other_x + other_width or other_x >= x + width or y >= other_y + other_height or other_y >= y + height)

    def test_an_arrow_over_several_rows_passes_no_box(self):
        self.assertTrue(draw_rooms.bends("control", "queue"))
        column, row, _ = draw_rooms.PLACES["queue"]
        self.assertFalse([room for room, (x, y, _) in draw_rooms.PLACES.items() if x == column and y < row])

    def test_the_same_sources_give_the_same_picture(self):
        edges = dict(no_edges(), control=["cache", "queue", "webhook"])
        kinds = {room: "library" for room in LAYERS.ROOMS}
        self.assertEqual(draw_rooms.picture(edges, kinds), draw_rooms.picture(dict(edges), dict(kinds)))


if __name__ == "__main__":
    unittest.main()
