// `tenon play2048`: the game on a terminal, for a person with arrow keys, or to watch what was learned.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "apps/tenon/board_view.h"
#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/io/input.h"
#include "tenon/rl/games.h"
#include "tenon/train/game_metrics.h"
#include "tenon/train/game_run.h"

namespace tenon::cli {
namespace {

using base::fail;
using rl::Board;
using rl::Move;

constexpr std::string_view kPlay = "play2048";

struct PlayArguments {
  std::string model;
  std::optional<std::string> board;
  int64_t seed = -1, games = 0;
  std::optional<int64_t> delay;
  bool random = false;
};

volatile std::sig_atomic_t was_killed = 0, wants_to_sleep = 0, was_woken = 0;

// A signal is a byte in this pipe, which the wait for a key watches too: one that comes just before the wait, or to
// another thread, ends it all the same.
int signal_pipe[2] = {-1, -1};

void note_signal(int signal) {
  const int before = errno;
  if (signal == SIGTSTP) {
    wants_to_sleep = 1;
  } else if (signal == SIGCONT) {
    was_woken = 1;
  } else if (signal != SIGWINCH) {  // which only has the board drawn anew
    was_killed = 1;
  }
  [[maybe_unused]] const auto written = ::write(signal_pipe[1], "", 1);
  errno = before;
}

// Keys one by one and a screen of its own while alive; the terminal is as it was afterwards, and while the program is
// stopped by Ctrl-Z.
class Terminal {
 public:
  Terminal() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) fail(kPlay, "the terminal cannot be set up");
    if (pipe2(signal_pipe, O_NONBLOCK | O_CLOEXEC) != 0) fail(kPlay, "no pipe can be opened: {}", strerror(errno));
    on(kEnding, note_signal);
    on({SIGWINCH, SIGTSTP, SIGCONT}, note_signal);
    take();
  }
  ~Terminal() {
    give_back();
    on(kEnding, SIG_DFL);
    on({SIGWINCH, SIGTSTP, SIGCONT}, SIG_DFL);
    for (const int end : signal_pipe) close(end);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  enum class Key : uint8_t { none, up, right, down, left, pause, step, faster, slower, anew, quit };

  /// The next key, or none after so many milliseconds (below 0: waits for one).
  Key next(int64_t milliseconds) {
    if (pending_.empty() && !read_more(milliseconds)) {
      if (wants_to_sleep) sleep();
      if (was_woken) take();  // the shell had the terminal meanwhile
      return was_killed ? Key::quit : Key::none;
    }
    // An arrow is three bytes, which may come apart on a slow line; an escape alone is nobody's key.
    if (pending_[0] == '\x1b') {
      while (pending_.size() < 3 && read_more(50)) {
      }
      const std::string sequence = pending_.substr(0, 3);
      pending_.erase(0, 3);
      if (sequence.size() < 3 || (sequence[1] != '[' && sequence[1] != 'O')) return Key::none;
      switch (sequence[2]) {
        case 'A': return Key::up;
        case 'B': return Key::down;
        case 'C': return Key::right;
        case 'D': return Key::left;
        default: return Key::none;
      }
    }
    const char key = pending_[0];
    pending_.erase(0, 1);
    switch (key) {
      case '\x1a': sleep(); return Key::none;
      case 'w':
      case 'k': return Key::up;
      case 's':
      case 'j': return Key::down;
      case 'd':
      case 'l': return Key::right;
      case 'a':
      case 'h': return Key::left;
      case ' ': return Key::pause;
      case 'n': return Key::step;
      case '+':
      case '=': return Key::faster;
      case '-': return Key::slower;
      case 'r': return Key::anew;
      case 'q':
      case '\x03':
      case '\x04': return Key::quit;
      default: return Key::none;
    }
  }

 private:
  static constexpr std::initializer_list<int> kEnding = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

  static void on(std::initializer_list<int> signals, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    for (const int signal : signals) sigaction(signal, &action, nullptr);
  }

  void take() {
    was_woken = 0;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write_out("\x1b[?1049h\x1b[?25l\x1b[2J");  // another screen, no cursor
    flush_out();
  }
  void give_back() {
    constexpr std::string_view kBack = "\x1b[?25h\x1b[?1049l";
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, kBack.data(), kBack.size());
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  // Until somebody wakes it.
  void sleep() {
    give_back();
    on({SIGTSTP}, SIG_DFL);
    kill(0, SIGTSTP);  // the whole job, as a terminal does
    on({SIGTSTP}, note_signal);
    wants_to_sleep = 0;
    take();
  }

  bool read_more(int64_t milliseconds) {
    pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {signal_pipe[0], POLLIN, 0}};
    if (poll(waited, 2, static_cast<int>(milliseconds)) <= 0) return false;
    char bytes[64];
    if (waited[1].revents != 0) {
      while (::read(signal_pipe[0], bytes, sizeof bytes) > 0) {
      }
      return false;
    }
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) {  // the terminal is gone
      was_killed = 1;
      return false;
    }
    pending_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  termios before_{};
  std::string pending_;
};

using Key = Terminal::Key;

std::optional<Move> move_of(Key key) {
  switch (key) {
    case Key::up: return Move::up;
    case Key::right: return Move::right;
    case Key::down: return Move::down;
    case Key::left: return Move::left;
    default: return std::nullopt;
  }
}

class Table {
 public:
  Table(const PlayArguments& wanted, rl::Learner* learner, uint64_t seed)
      : wanted_(wanted),
        learner_(learner),
        watches_(learner != nullptr),
        delay_(wanted.delay.value_or(150)),
        games_(1, seed) {}

  void begin_with(const Board& board) { games_.set(0, board); }

  void play() {
    Terminal terminal;
    status_ = watches_ ? "watching what was learned" : "join equal tiles and reach 2048";
    while (true) {
      const bool is_seen = draw();
      const bool moves_alone = is_seen && watches_ && !games_.is_over(0);
      const Key key = terminal.next(moves_alone ? delay_ : -1);
      if (key == Key::quit || was_killed) return;
      if (key == Key::none) {
        if (moves_alone) move_by_learner();
      } else if (is_seen) {
        answer(key);
      }
    }
  }

  std::string last_words() const {
    return fmt::format("{}score {} after {} move{}\n", rl::to_string(games_.board(0)), games_.score(0), games_.moves(0),
                       games_.moves(0) == 1 ? "" : "s");
  }

 private:
  void answer(Key key) {
    if (key == Key::anew) {
      games_.restart(0);
      status_ = "a new game";
    } else if (key == Key::faster) {
      delay_ = std::max<int64_t>(delay_ / 2, 1);
    } else if (key == Key::slower) {
      delay_ = std::min<int64_t>(delay_ * 2, 5000);
    } else if (games_.is_over(0)) {
      return;
    } else if (const auto move = move_of(key)) {
      move_by_person(*move);
    } else if (learner_ && key == Key::pause) {
      watches_ = !watches_;
      status_ = watches_ ? "watching what was learned"
                         : "paused: arrow keys play on, n lets it make one move, space lets it go on";
    } else if (learner_ && key == Key::step) {
      watches_ = false;
      move_by_learner();
    }
  }

  void move_by_person(Move move) {
    watches_ = false;
    if (!rl::contains(games_.legal(0), move)) {
      status_ = fmt::format("{} moves nothing; what moves: {}", rl::name(move), rl::to_string(games_.legal(0)));
      return;
    }
    make(move);
  }

  void move_by_learner() {
    Move move{};
    learner_->choose({&games_.board(0), 1}, {&move, 1});
    make(move);
  }

  void make(Move move) {
    const int before = games_.board(0).largest_exponent();
    const int score = games_.play(0, move);
    best_ = std::max(best_, games_.score(0));
    const int largest = games_.board(0).largest_exponent();
    status_ = fmt::format("{}{}", rl::name(move), score > 0 ? fmt::format(", {} points", score) : "");
    if (largest > before && largest >= 11) status_ = fmt::format("{} reached!", 1 << largest);
  }

  // Whether there was room for the board.
  bool draw() {
    BoardScreen screen{games_.board(0), games_.score(0), games_.moves(0), best_, "", status_, ""};
    const std::string model = io::escaped(wanted_.model);
    screen.title = !learner_ ? "you play" : watches_ ? model + " plays" : "you play, " + model + " waits";
    screen.keys = !learner_  ? "arrows (or wasd, hjkl) play  r new game  q quit"
                  : watches_ ? "space pause  n one move  + - speed  arrows play  r new game  q quit"
                             : "arrows play  n it makes one move  space it plays on  r new game  q quit";
    if (games_.is_over(0)) {
      screen.title = watches_ ? model + " has played" : "you have played";
      screen.status = fmt::format("GAME OVER, the largest tile is {}", 1 << games_.board(0).largest_exponent());
      screen.keys = "r new game  q quit";
    }
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
      screen.rows = size.ws_row;
      screen.columns = size.ws_col;
    }
    std::string text = drawn(screen, true);
    for (size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; at += 5) text.insert(at, "\x1b[K");
    write_out("\x1b[H" + text + "\x1b[J");
    flush_out();
    return fits(screen);
  }

  const PlayArguments& wanted_;
  rl::Learner* learner_;
  bool watches_;
  int64_t delay_, best_ = 0;
  rl::Games games_;
  std::string status_;
};

Board board_named(const std::string& text) {
  std::vector<int64_t> tiles;
  std::string number;
  std::istringstream rest(text + ",");  // so that nothing behind the last comma is an empty number
  while (std::getline(rest, number, ',')) {
    std::erase(number, ' ');
    int64_t tile = 0;
    const char* end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, tile);
    if (number.empty() || read.ptr != end || read.ec != std::errc())
      fail(kPlay, "--board: '{}' is no tile; name 16 tiles: 0,2,4,...", io::escaped(number));
    tiles.push_back(tile);
  }
  const Board board = rl::board_of(tiles);
  rl::require_possible(board);
  return board;
}

void print_games(rl::Learner* learner, int64_t games, uint64_t seed) {
  const rl::Summary sum = rl::summary_of(rl::play_games(learner, games, seed));
  print("{} with {} moves: mean score {:.0f}, best {}, {:.0f} moves a game\n",
        games == 1 ? "1 game" : fmt::format("{} games", games), learner ? "the best" : "random", sum.mean_score,
        sum.best_score, sum.mean_moves);
  for (int tile = 1 << rl::kLargestExponent; tile >= 4; tile /= 2) {
    if (sum.reached(tile) > 0) print("{:6} reached in {:>7}\n", tile, train::share_text(sum.reached(tile)));
  }
}

void run(const PlayArguments& wanted) {
  const bool plays_many = wanted.games > 0;
  if (wanted.random && !plays_many) throw CLI::ValidationError("--random goes with --games");
  if (wanted.random && !wanted.model.empty()) throw CLI::ValidationError("--random and --model exclude each other");
  if (plays_many && wanted.model.empty() && !wanted.random)
    throw CLI::ValidationError("--games needs --model, or --random for comparison");
  if (plays_many && wanted.delay) throw CLI::ValidationError("--delay is for a game that is drawn; leave --games away");
  if (plays_many && wanted.board) throw CLI::ValidationError("--board is for one game; leave --games away");
  const std::optional<Board> board = wanted.board ? std::optional(board_named(*wanted.board)) : std::nullopt;
  if (!plays_many && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
    fail(kPlay, "the board is drawn on a terminal, and this is none; --games N plays without one");
  if (!plays_many && base::env::is(base::env::kTerm, "dumb"))
    fail(kPlay, "this terminal (TERM=dumb) cannot draw a board; --games N plays without one");
  const std::unique_ptr<rl::Learner> learner =
      wanted.model.empty()
          ? nullptr
          : train::load_learner(wanted.model, [](const std::string& text) { tell(io::escaped(text) + "\n"); });
  const auto now = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  if (plays_many)
    return print_games(learner.get(), wanted.games, wanted.seed < 0 ? 1 : static_cast<uint64_t>(wanted.seed));
  Table table(wanted, learner.get(), wanted.seed < 0 ? now : static_cast<uint64_t>(wanted.seed));
  if (board) table.begin_with(*board);
  table.play();
  print("{}", table.last_words());
}

}  // namespace

void add_play2048(CLI::App& app) {
  CLI::App* command = app.add_subcommand("play2048", "Play 2048 on the terminal, or watch what was learned");
  command->footer(
      "Arrow keys play. With --model, a folder of `tenon train dqn2048`, its learner plays until you take over.\n"
      "\n"
      "Examples:\n"
      "  tenon play2048\n"
      "  tenon play2048 --model runs/dqn2048 --delay 50\n"
      "  tenon play2048 --model runs/dqn2048 --games 1000\n"
      "  tenon play2048 --random --games 1000");
  const auto wanted = std::make_shared<PlayArguments>();
  command->add_option("--model", wanted->model, "A run of tenon train dqn2048, or one of its checkpoints")
      ->type_name("FOLDER")
      ->check(path_name());
  command->add_option("--delay", wanted->delay, "Milliseconds to a move of the learner (150)")
      ->type_name("MS")
      ->check(whole_number(1, 60'000));
  command
      ->add_option("--seed", wanted->seed,
                   "Which tiles appear: the same seed, the same game (the time; 1 with --games)")
      ->type_name("NUMBER")
      ->check(whole_number(0, 1'000'000'000'000));
  command->add_option("--board", wanted->board, "Begin with these 16 tiles, row by row: 0,2,4,...")->type_name("TILES");
  command->add_option("--games", wanted->games, "Play so many games without drawing and print how they went")
      ->type_name("COUNT")
      ->check(whole_number(1, 1'000'000));
  command->add_flag("--random", wanted->random, "With --games: random moves, for comparison");
  command->callback([wanted] { run(*wanted); });
}

}  // namespace tenon::cli
