// Plots about things: lost, stuck, shared, broken, wanted, planted.

#include "tenon/data/story_plots.h"

namespace tenon::data {
namespace {

const Choice kColors = {"color", {"red", "blue", "green", "yellow", "purple", "pink", "white", "brown"}};
const Choice kToys = {"toy", {"ball", "doll", "teddy bear", "toy car", "toy boat", "drum", "puppet", "toy train"}};
const Choice kSomeDays = {
    "day",
    {"One day,", "One morning,", "One sunny day,", "One warm afternoon,", "On a bright morning,", "One fine day,"}};
const Choice kPlaces = {"inplace;toplace;s1;s2;s3",
                        {"in the park;to the park;under the bench;behind the big tree;near the slide",
                         "in the garden;to the garden;under the bush;behind the shed;near the flowers",
                         "on the beach;to the beach;under the boat;behind the rocks;near the water",
                         "in the yard;to the yard;under the cart;behind the fence;near the gate",
                         "in the meadow;to the meadow;under the leaves;behind the tall grass;near the stream",
                         "in the barn;to the barn;under the hay;behind the door;near the window"}};

Plot lost() {
  return {
      true,
      {kColors,
       kToys,
       kSomeDays,
       kPlaces,
       {"other", {"old shoe", "sleepy cat", "empty box", "green frog", "broken cup", "round stone"}}},
      {{"{He} had a {color} {toy}, and {he} [loved it very much|took it everywhere|played with it every day].",
        "{His} favorite toy was a {color} {toy}. [{He} took it everywhere|It was a gift from {his} {P}].",
        "{His} {P} had given {him} a {color} {toy}, and {he} [was very proud of it|slept with it every night]."},
       {"\n{day} {A} took the {toy} {toplace}. {He} [ran and jumped and laughed|played there for a long time].",
        "\n{day} {A} went {toplace} with the {toy}. {He} [played and sang a little song|had so much fun there]."},
       {"But when it was time to go home, the {toy} was gone.",
        "When {he} wanted to go home, {he} could not find the {toy}.",
        "Then {he} looked around. The {toy} was not there anymore!"},
       {"\"Oh no! Where is my {toy}?\" {he} [cried|said].",
        "{A} felt very [sad|worried]. \"I lost my {toy},\" {he} said.",
        "{A} began to cry. {He} did not know what to do."},
       {"{He} looked {s1}, but it was not there. {He} looked {s2}, but there was only {a:other}.",
        "First {he} looked {s1}. There was only {a:other}. Then {he} looked {s2}. There was nothing there."},
       {"\nThen {friend} came by. \"Why are you so sad?\" asked {F}. \"I cannot find my {toy},\" said {A}. \"Do not "
        "worry. I will help you look,\" said {F}.",
        "\nJust then, {friend} saw {him}. \"What is wrong?\" asked {F}. \"My {toy} is gone,\" said {A}. \"Let us look "
        "for it together,\" said {F}."},
       {"They looked and looked. \"I see something {color}!\" {F} shouted. It was the {toy}! It was {s3} all the time.",
        "Together they went to look {s3}. And there it was, the {color} {toy}!",
        "{F} had sharp eyes. {Fhe} saw something {color} {s3}. It was the {toy}!"},
       {"{A} hugged the {toy} and smiled. \"Thank you, {F}. You are a good friend,\" {he} said.",
        "{A} was so happy that {he} [danced|jumped up and down]. \"Thank you for your help!\" {he} said to {F}."},
       {"From that day on, {A} always [looked after the {toy}|kept the {toy} close].",
        "Then the two friends played with the {toy} until the sun went down.",
        "They went home together, and {A} held the {toy} tight."}}};
}

Plot stuck() {
  return {
      true,
      {kColors,
       {"toy;cause",
        {"kite;a strong wind pulled it away", "ball;{he} threw it too high", "balloon;the string slipped away",
         "hat;the wind took it from {his} head", "paper plane;it flew much too high", "scarf;the wind blew it away"}},
       {"inplace;toplace", {"in the park;to the park", "on the hill;to the hill", "in the meadow;to the meadow"}},
       {"high", {"in a tall tree", "on a high branch", "on top of a wall", "on the roof of a barn"}},
       {"day", {"One windy day,", "One morning,", "One day in spring,", "One cool day,"}}},
      {{"{He} had a [new|pretty|big] {color} {toy}.", "{His} {P} had made a {color} {toy} for {him}.",
        "On {his} birthday, {he} got a {color} {toy} from {his} {P}."},
       {"\n{day} {A} went {toplace} with the {toy}. {He} [ran and laughed|was having a lot of fun].",
        "\n{day} {A} was playing {inplace} with the {toy}. The sky was blue, and the birds were singing."},
       {"But then {cause}. It got stuck {high}.", "Suddenly, {cause}, and it landed {high}."},
       {"{A} jumped and jumped, but {he} could not reach it.", "{A} tried to climb up, but it was too hard.",
        "{A} threw a stick at it, but the stick fell down again. The {toy} did not move."},
       {"\"I will never get it back,\" {he} said [sadly|and sat down on the ground].",
        "{He} felt like crying. {He} loved that {toy}."},
       {"\n{A} saw {friend} and called for help. \"I have an idea,\" said {F}. \"We can use a long stick.\" {F} held "
        "the stick up high and pushed the {toy}. Down it came!",
        "\n{A} ran home and asked {his} {P} for help. \"You did the right thing,\" said {Pname}. {Phe} brought a "
        "ladder "
        "and climbed up slowly. Soon {A} had the {toy} back.",
        "\nA little bird heard {him}. \"I can fly up there,\" said the bird. It flew up and pulled at the {toy} until "
        "it fell down.",
        "\nThen {friend} came along. \"Climb on my back,\" said {F}. {A} climbed up and reached as high as {he} could. "
        "At last {he} had the {toy}!"},
       {"\"Thank you so much!\" said {A}. {He} was very happy.",
        "{A} smiled a big smile. \"Thank you! Thank you!\" {he} said.",
        "\"Hooray!\" shouted {A}, and {he} held the {toy} tight."},
       {"After that, {A} knew that it is good to ask for help.",
        "That night, {A} told everyone about the {toy} that could not come down.",
        "{A} learned that big problems get small when someone helps."}}};
}

Plot shared() {
  return {true,
          {kColors,
           kSomeDays,
           {"toy;use;ending",
            {"swing;swing on it;They pushed each other higher and higher",
             "wagon;pull it;They pulled it together, and it was much faster",
             "drum;play it;One of them played, and the other one danced",
             "sled;ride on it;They sat on it together and raced down the hill",
             "boat;sail it;They sailed it across the pond and back",
             "bike;ride it;They raced to the gate and back, one after the other"}},
           {"feeling", {"angry", "upset", "mad"}}},
          {{"{He} had a best friend named {F}. They [played together every day|did everything together].",
            "{His} best friend was {F}. The two of them [liked the same games|were always together]."},
           {"\n{day} they found a {color} {toy}. Both of them wanted to {use}.",
            "\n{day} there was a {color} {toy} in the yard. {A} wanted to {use}, and {F} did too."},
           {"\"I saw it first!\" said {A}. \"No, it is my turn!\" said {F}.",
            "\"Give it to me!\" said {F}. \"No, I want it!\" said {A}.",
            "\"It is mine!\" shouted {A}. \"You are not fair!\" shouted {F}."},
           {"{A} pulled on one side, and {F} pulled on the other side. Then they both fell down in the mud.",
            "They pushed and pulled. Bump! They both fell to the ground.",
            "They were both so {feeling} that they did not say a word. No one was having fun."},
           {"\n{A} looked at {F} [for a long time|and thought]. \"I am sorry,\" {he} said. \"We can share.\"",
            "\n{A} was {feeling} at first. But then {he} missed {his} friend. {He} went to {F} and said, \"I am sorry. "
            "You can "
            "go first.\"",
            "\n{A}'s {P} had seen it all. \"A {toy} is more fun with a friend,\" said {Pname}. {A} thought about that. "
            "Then {he} "
            "went to {F} and said, \"You can have the first turn.\""},
           {"\"I am sorry too,\" said {F}.", "{F} smiled. \"Thank you, {A}. Then it is your turn,\" {fhe} said."},
           {"{ending}. It was the best day of all.", "{ending}, and they laughed until their bellies hurt."},
           {"{A} and {F} were friends again.", "From then on, they always shared.",
            "Sharing was much better than fighting."}}};
}

Plot broken() {
  return {
      true,
      {{"thing;what", {"cup;tea", "vase;flowers", "bowl;fruit", "jar;honey", "plate;cookies", "pot;soup"}},
       kColors,
       {"cause",
        {"{A} was running in the house", "{A} was dancing around the table",
         "{A} was playing with a ball in the kitchen", "{A} was chasing a fly"}},
       {"hide", {"under the bed", "behind the door", "in a box", "under the rug"}},
       {"day", {"One morning,", "One rainy day,", "One day,", "One evening,"}}},
      {{"{A}'s {P} had a pretty {color} {thing}. It was very old.",
        "In the kitchen stood a {color} {thing}. It was {Pname}'s favorite {thing}."},
       {"\n{day} {cause}. Crash! The {thing} fell down and broke.",
        "\n{day} {cause} when {he} hit the table. The {thing} fell to the floor and broke into three pieces."},
       {"{A} was scared. \"{Pname} will be so angry,\" {he} thought.",
        "{A}'s heart beat fast. \"What have I done?\" {he} said softly."},
       {"{He} hid the pieces {hide}. But {he} felt bad. {He} could not play, and {he} could not eat.",
        "{He} put the pieces {hide} and told no one. But all day long, {he} had a bad feeling in {his} belly."},
       {"\nAt last, {A} went to {his} {P}. \"I broke your {thing}. I am very sorry,\" {he} said [and began to cry|in a "
        "small voice].",
        "\nIn the evening, {Pname} asked, \"Where is my {thing}?\" {A} looked down. \"I broke it,\" {he} said. \"I am "
        "so sorry.\""},
       {"{Pname} was quiet for a moment. Then {phe} gave {A} a hug. \"Thank you for telling me the truth,\" {phe} "
        "said.",
        "{Pname} was not angry. \"Things can break,\" {phe} said. \"But I am glad that you told me the truth.\""},
       {"They sat down at the table and put the pieces together with glue. It took a long time.",
        "Together they got the glue and fixed the {thing}, piece by piece."},
       {"The {thing} had some lines now, but it could hold {what} again. {A} thought it was even prettier than before.",
        "It was not perfect, but {Pname} said that {phe} liked it even more now.",
        "That night, {A} slept very well. Telling the truth had made {him} feel light again."}}};
}

Plot wanted() {
  return {false,
          {kColors,
           {"thing;gift",
            {"kite;It can fly", "drum;It is loud", "scarf;It is so soft", "book;It has so many pictures",
             "music box;It plays a song", "hat;It will keep you warm"}},
           {"shop", {"in the window of a shop", "at the market", "in a little store"}},
           {"helped;work",
            {"an old man;carried his bags up the stairs", "a neighbor;washed her windows",
             "the baker;swept the floor of the shop", "a farmer;picked apples all day",
             "an old woman;watered her flowers"}},
           {"who;whom", {"little sister;her", "little brother;him", "big sister;her", "big brother;him"}},
           {"day", {"One day,", "One cold day,", "One afternoon,", "On a Sunday,"}}},
          {{"\n{day} {he} saw a {color} {thing} {shop}. \"I want to buy that,\" {he} said. But {he} had no money."},
           {"\"How can I get some money?\" {A} asked {his} {P}. \"You can work for it,\" said {Pname}.",
            "{A} went home and thought about it. \"I will work for it,\" {he} said to {his} {P}."},
           {"So {A} went to help {helped}. {He} {work}. It was hard work, and {he} got very tired.",
            "The next day, {A} helped {helped}. {He} {work}. {He} did not stop until it was done."},
           {"In the evening, {he} got five shiny coins for {his} help.",
            "In the end, {he} got some coins for {his} work. {He} was very proud."},
           {"\n{A} ran to buy the {thing}. On the way home, {he} remembered that it was {his} {who}'s birthday.",
            "\nNow {he} could buy the {thing}. But then {he} thought of {his} {who}, who was sick in bed."},
           {"{He} looked at the {thing} for a while. Then {he} had an idea.",
            "{He} stopped and thought. Then {he} smiled."},
           {"\"This is for you,\" {A} said at home and gave the {thing} to {his} {who}. \"{gift}.\"",
            "{He} gave the {color} {thing} to {his} {who}. \"{gift}. I hope you like it,\" {he} said."},
           {"{A} had never seen {whom} so happy. It was better than keeping the {thing}.",
            "It was the nicest gift of all, and {A} felt warm inside.", "Giving made {A} even happier than getting."}}};
}

Plot planted() {
  return {
      true,
      {{"plant;fruit;dish",
        {"apple tree;apples;a big pie", "pumpkin;pumpkins;a pot of soup", "strawberry plant;strawberries;a sweet cake",
         "carrot patch;carrots;a fresh salad", "bean plant;beans;a warm soup", "cherry tree;cherries;a jar of jam"}},
       {"spot", {"behind the house", "near the fence", "in a sunny spot", "next to the path"}},
       {"day", {"One day in spring,", "One spring morning,", "On a warm spring day,"}}},
      {{"\n{day} {he} found a small bag of seeds. \"What will they be?\" {he} asked. \"Plant them and see,\" said "
        "{his} {P}.",
        "\n{day} {his} {P} gave {him} some tiny seeds. \"If you take good care of them, they will grow,\" said "
        "{Pname}."},
       {"{A} dug a hole {spot}, put the seeds in, and gave them water.",
        "{A} planted the seeds {spot} and covered them with soft earth."},
       {"The next day, {he} ran to look. Nothing had happened. \"Maybe they are asleep,\" {he} said.",
        "Every morning, {he} looked at the ground. There was nothing to see. \"Why does it take so long?\" {he} "
        "asked."},
       {"\"You have to wait,\" said {Pname}. \"Good things take time.\"",
        "{Friend} laughed and said, \"Nothing will ever grow there.\" But {A} did not give up."},
       {"\nSo {A} waited. The rain came, and the sun came out again. {He} gave the seeds water every day.",
        "\n{A} kept watering the ground. {He} pulled out the weeds and sang to the seeds."},
       {"Then one morning, there was a little green leaf! {A} jumped for joy.",
        "At last, something small and green came out of the ground. \"It is growing!\" {A} shouted."},
       {"It grew and grew. In the end, it was {a:plant}, full of {fruit}.",
        "Week after week it got bigger, and by the end of summer there were many {fruit}."},
       {"{A} and {his} {P} made {dish} and shared it with {friend}. It was delicious.",
        "They picked the {fruit} and made {dish}. {Friend} came to eat with them. \"This is the best thing I ever "
        "ate,\" said {F}."},
       {"{A} was glad that {he} had waited.", "{A} saved some seeds for the next spring.",
        "Good things really do take time."}}};
}

Plot rainy() {
  return {true,
          {{"plan;toplan",
            {"a picnic;have a picnic", "a trip to the lake;go to the lake", "a ball game;play ball",
             "a trip to the river;go to the river"}},
           {"build;part;play",
            {"ship;an old blanket as a sail;They sailed across the sea and looked for gold",
             "castle;big boxes as walls;They were kings of a far land and ate cookies",
             "train;six chairs in a row;They rode past mountains and through dark tunnels",
             "tent;a sheet over two chairs;They told stories by the light of a little lamp",
             "cave;pillows all around;They were bears and slept through the winter"}},
           {"sound", {"Drip, drop, drip.", "Splash, splash, splash.", "Tap, tap, tap."}}},
          {{"{He} was excited because {he} and {friend} wanted to {toplan} that day.",
            "For a whole week, {he} had been waiting for {plan} with {friend}."},
           {"\nBut in the morning, {A} heard something at the window. {sound} It was raining!",
            "\nBut when {he} woke up, the sky was gray. {sound} The rain came down and did not stop."},
           {"\"Now we cannot {toplan},\" said {A}. {He} [was close to tears|looked out of the window sadly].",
            "{A} was so disappointed. \"This day is ruined,\" {he} said."},
           {"{F} came over with wet feet. {Fhe} was sad too.",
            "{F} came to the door, wet from head to toe. \"What do we do now?\" {fhe} asked."},
           {"\n\"I have an idea,\" said {A}'s {P}. \"You can build a {build} inside!\"",
            "\nThen {Pname} smiled. \"A rainy day is a good day to build a {build},\" {phe} said."},
           {"They used {part}. Soon the room did not look like a room anymore.",
            "They took {part}. It was a wonderful {build}."},
           {"{play}.", "{play}. They did not even hear the rain anymore.", "{play}, and the time went by very fast."},
           {"When the rain stopped, {A} and {F} did not want to go outside at all.",
            "\"I hope it rains again tomorrow,\" said {F}, and {A} laughed.",
            "In the evening, {A} said, \"This was better than {plan}.\""}}};
}

}  // namespace

std::vector<Plot> plots_about_things() { return {lost(), stuck(), shared(), broken(), wanted(), planted(), rainy()}; }

}  // namespace tenon::data
