#include "tenon/data/entities.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tenon::data {
namespace {

struct Entity {
  std::string_view name;
  uint32_t character;
};

/// The five of XML, then those of HTML that articles use.
constexpr std::array kEntities = {
    Entity{"amp", '&'},       Entity{"lt", '<'},       Entity{"gt", '>'},        Entity{"quot", '"'},
    Entity{"apos", '\''},     Entity{"nbsp", ' '},     Entity{"ensp", ' '},      Entity{"emsp", ' '},
    Entity{"thinsp", ' '},    Entity{"ndash", 0x2013}, Entity{"mdash", 0x2014},  Entity{"minus", 0x2212},
    Entity{"hellip", 0x2026}, Entity{"lsquo", 0x2018}, Entity{"rsquo", 0x2019},  Entity{"ldquo", 0x201C},
    Entity{"rdquo", 0x201D},  Entity{"laquo", 0xAB},   Entity{"raquo", 0xBB},    Entity{"bull", 0x2022},
    Entity{"middot", 0xB7},   Entity{"deg", 0xB0},     Entity{"prime", 0x2032},  Entity{"Prime", 0x2033},
    Entity{"times", 0xD7},    Entity{"divide", 0xF7},  Entity{"plusmn", 0xB1},   Entity{"frac12", 0xBD},
    Entity{"frac14", 0xBC},   Entity{"frac34", 0xBE},  Entity{"sup2", 0xB2},     Entity{"sup3", 0xB3},
    Entity{"micro", 0xB5},    Entity{"sect", 0xA7},    Entity{"para", 0xB6},     Entity{"copy", 0xA9},
    Entity{"reg", 0xAE},      Entity{"trade", 0x2122}, Entity{"euro", 0x20AC},   Entity{"pound", 0xA3},
    Entity{"yen", 0xA5},      Entity{"cent", 0xA2},    Entity{"larr", 0x2190},   Entity{"rarr", 0x2192},
    Entity{"uarr", 0x2191},   Entity{"darr", 0x2193},  Entity{"harr", 0x2194},   Entity{"le", 0x2264},
    Entity{"ge", 0x2265},     Entity{"ne", 0x2260},    Entity{"asymp", 0x2248},  Entity{"infin", 0x221E},
    Entity{"radic", 0x221A},  Entity{"sum", 0x2211},   Entity{"part", 0x2202},   Entity{"alpha", 0x3B1},
    Entity{"beta", 0x3B2},    Entity{"gamma", 0x3B3},  Entity{"delta", 0x3B4},   Entity{"epsilon", 0x3B5},
    Entity{"lambda", 0x3BB},  Entity{"mu", 0x3BC},     Entity{"pi", 0x3C0},      Entity{"sigma", 0x3C3},
    Entity{"omega", 0x3C9},   Entity{"Delta", 0x394},  Entity{"Omega", 0x3A9},   Entity{"auml", 0xE4},
    Entity{"ouml", 0xF6},     Entity{"uuml", 0xFC},    Entity{"Auml", 0xC4},     Entity{"Ouml", 0xD6},
    Entity{"Uuml", 0xDC},     Entity{"szlig", 0xDF},   Entity{"eacute", 0xE9},   Entity{"egrave", 0xE8},
    Entity{"agrave", 0xE0},   Entity{"aacute", 0xE1},  Entity{"iacute", 0xED},   Entity{"oacute", 0xF3},
    Entity{"uacute", 0xFA},   Entity{"ccedil", 0xE7},  Entity{"ntilde", 0xF1},   Entity{"oslash", 0xF8},
    Entity{"aring", 0xE5},    Entity{"aelig", 0xE6},   Entity{"dagger", 0x2020}, Entity{"Dagger", 0x2021},
};
constexpr size_t kOfXml = 5, kLongest = 10;

/// Of "8211" or "x2013"; 0 where it is none.
uint32_t number_of(std::string_view digits) {
  const bool is_hex = digits.starts_with('x') || digits.starts_with('X');
  if (is_hex) digits.remove_prefix(1);
  uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number, is_hex ? 16 : 10);
  return error == std::errc() && stopped == end ? number : 0;
}

}  // namespace

void append_utf8(uint32_t character, std::string& to) {
  const bool is_character = character < 0x110000 && (character < 0xD800 || character > 0xDFFF);
  if (!is_character) character = 0xFFFD;
  const auto put = [&](uint32_t byte) { to += static_cast<char>(byte); };
  const auto put_rest = [&](int shift) { put(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put_rest(0);
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | character >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

size_t append_entity(std::string_view text, Entities known, std::string& to) {
  if (!text.starts_with('&')) return 0;
  const size_t end = text.substr(0, kLongest + 1).find(';');
  if (end == text.npos || end < 2) return 0;
  const std::string_view name = text.substr(1, end - 1);
  if (name[0] == '#') {
    const uint32_t number = number_of(name.substr(1));
    // A number may name a control character, which text has no use for.
    if (number < ' ' && number != '\n' && number != '\t') return 0;
    append_utf8(number, to);
    return end + 1;
  }
  const auto last = known == Entities::kXml ? kEntities.begin() + kOfXml : kEntities.end();
  const auto found = std::find_if(kEntities.begin(), last, [&](const Entity& entity) { return entity.name == name; });
  if (found == last) return 0;
  append_utf8(found->character, to);
  return end + 1;
}

}  // namespace tenon::data
