// Plots about people and animals: fear, kindness, being lost, being new, losing a race, a surprise.

#include "tenon/data/story_plots.h"

namespace tenon::data {
namespace {

const Choice kDays = {"day",
                      {"One day,", "One morning,", "One sunny day,", "One warm afternoon,", "On a bright morning,"}};

Plot afraid() {
  return {true,
          {{"fear;when;why",
            {"the dark;when the light went out at night;It is only the day with its eyes closed",
             "thunder;when a storm came in the night;It is only the clouds clapping their hands",
             "deep water;when everyone went to swim;The water will carry you if you are calm",
             "high places;when they climbed the hill with the old tower;You only have to look at the next step",
             "loud noises;when the big drums played in town;You can hear the song in them if you listen"}},
           {"trait", {"quiet", "shy", "gentle", "kind", "careful"}},
           {"comfort", {"took {his} hand", "sat down next to {him}", "put an arm around {him}"}}},
          {{"There was one thing {he} did not like. {He} was afraid of {fear}.",
            "{He} was not afraid of many things, but {he} was afraid of {fear}."},
           {"\nOne day, {when}, {A} began to shake. {He} wanted to [hide|run away].",
            "\nOne day, {when}, {A} closed {his} eyes and did not move at all."},
           {"\"What is wrong?\" asked {friend}. \"I am afraid of {fear},\" said {A} in a small voice.",
            "{Friend} saw it. \"Are you afraid?\" {fhe} asked. {A} nodded. {He} felt a little ashamed."},
           {"{F} did not laugh. {Fhe} {comfort}. \"I was afraid of that too,\" {fhe} said. \"{why}.\"",
            "\"Everyone is afraid sometimes,\" said {F}, and {fhe} {comfort}. \"{why}.\""},
           {"\n{A} took a deep breath. {He} counted to three. One, two, three!",
            "\n\"Will you stay with me?\" asked {A}. \"Of course,\" said {F}."},
           {"Slowly, {A} opened {his} eyes. It was not so bad after all.",
            "At first {his} knees were weak. But then {he} felt a little better, and then a little more."},
           {"\"I did it!\" {A} shouted. \"I was brave!\"",
            "{A} began to smile. \"I am still a little afraid,\" {he} said, \"but I can do it.\""},
           {"To be brave does not mean that you have no fear. {A} knew that now.",
            "That evening, {A} told {his} {P} all about it. \"I am so proud of you,\" said {Pname}.",
            "After that, {fear} did not look so big anymore."}}};
}

Plot little_animal() {
  return {
      false,
      {kDays,
       {"animal;food;leaving;sound",
        {"bird;seeds;spread its wings and flew up into the sky;sang a song",
         "kitten;warm milk;ran into the garden and chased a leaf;said meow",
         "puppy;some meat;ran out into the sun and barked;wagged its tail",
         "hedgehog;an apple;walked slowly back into the garden;made a happy little sound",
         "duckling;some bread;swam back to its mother;said quack",
         "bunny;a carrot;hopped across the grass;moved its ears"}},
       {"found", {"under a bush", "next to the path", "behind the house", "in the tall grass", "near the road"}},
       {"trouble;need",
        {"It was cold and wet;a warm blanket", "Its leg was hurt;a soft bandage", "It was lost and hungry;a safe place",
         "It was too weak to move;a bed of straw"}}},
      {{"\n{day} {he} was walking home when {he} heard a soft cry.",
        "\n{day} {he} heard a tiny sound. \"Who is there?\" {he} asked."},
       {"{A} looked around and found a little {animal} {found}. {trouble}.",
        "There was a small {animal} {found}. {trouble}."},
       {"\"Poor little {animal},\" said {A}. \"I will help you.\"",
        "\"Do not be afraid,\" {A} said softly. \"I will not hurt you.\""},
       {"{He} picked it up with both hands and took it home to {his} {P}.",
        "{He} ran home and told {his} {P}. Together they carried the {animal} into the house."},
       {"\n{Pname} found {need} for the {animal}, and {A} gave it {food}.",
        "\n\"It needs {need},\" said {Pname}. {A} got it right away and gave the {animal} {food} too."},
       {"At first it did not want to eat. {A} waited and talked to it in a gentle voice. Then it took a little bite.",
        "{A} stayed with it all night. In the morning, the {animal} opened its eyes."},
       {"Every day, the {animal} got stronger. One day, it even {sound}.",
        "After a few days, the {animal} was well again. It looked at {A} and {sound}."},
       {"\n\"Now it can go where it wants,\" said {Pname}. They opened the door. The {animal} {leaving}.",
        "\n{A} was a little sad, because now it was time to say goodbye. {He} opened the door, and the {animal} "
        "{leaving}."},
       {"{A} knew that {he} had a new friend.", "And sometimes, in the evening, it came back to visit {A}.",
        "\"You have a good heart,\" said {Pname}, and {A} smiled."}}};
}

Plot lost_way() {
  return {true,
          {{"follow", {"butterfly", "green frog", "white bird", "red leaf in the wind", "shiny beetle"}},
           {"wood", {"the forest", "the tall corn", "the old woods", "the fog"}},
           {"sign;home",
            {"the sound of a bell;It was the bell near {his} home",
             "the smell of fresh bread;Only {his} {P} made bread like that",
             "a thin line of smoke;It came from the house of {his} family",
             "a row of small lights;They were the lights on {his} street",
             "the sound of the stream;The stream ran right past {his} house"}}},
          {{"\"Do not go too far,\" {his} {P} always said.",
            "{He} liked to look at everything, and sometimes {he} forgot where {he} was."},
           {"\nOne day, {A} saw a {follow}. It was so pretty that {he} went after it, farther and farther into {wood}.",
            "\nOne afternoon, {he} followed a {follow} into {wood}. {He} did not look back even once."},
           {"When it was gone, {A} stopped. Nothing looked the same. {He} was lost.",
            "Then {he} stopped and looked around. \"Where am I?\" {he} asked. No one answered."},
           {"The sun was going down, and it was getting cold. {A} felt very small.",
            "{He} walked to the left. {He} walked to the right. But {he} could not find the way."},
           {"\nThen {he} remembered what {his} {P} had told {him}. \"If you are lost, stay calm and listen.\"",
            "\n{He} wanted to cry. But then {he} thought, \"Crying will not show me the way. I must think.\""},
           {"{A} sat down and was very quiet. After a while, {he} noticed {sign}. {home}!",
            "{He} closed {his} eyes for a moment. When {he} opened them, {he} noticed {sign}. {home}!"},
           {"{He} got up and walked that way, step by step. And there was the door!",
            "{He} ran as fast as {he} could, and soon {he} saw {his} home."},
           {"{Pname} was waiting outside. \"There you are!\" {phe} said and gave {A} a big hug. \"I was so worried.\"",
            "\"I got lost, but I found the way,\" said {A}. {Pname} held {him} for a long time."},
           {"That night, {A} was very glad to be in {his} own warm bed.",
            "After that, {A} always looked back to see where {he} had come from.",
            "They ate hot soup, and {A} told the whole story."}}};
}

Plot new_friend() {
  return {false,
          {{"place", {"on a bench", "under a tree", "on the steps", "near the gate"}},
           {"doing;game",
            {"drawing in a little book;They drew a dragon with green wings",
             "reading a thick book;They read the funny parts out loud",
             "looking at the clouds;They saw a fish and a shoe and a big white bear",
             "playing with small stones;They built a tower with nine stones",
             "making a paper boat;They made ten paper boats and raced them"}},
           {"from", {"a far city", "another country", "the mountains", "an island"}}},
          {{"\nOne day, a new child came to school. {Fhis} name was {F}, and {fhe} was from {from}.",
            "\nA new family moved into the house next door. They came from {from} and had a child named {F}."},
           {"{F} did not talk to anyone. {Fhe} sat alone {place}, {doing}.",
            "Every day, {F} sat {place} all alone, {doing}."},
           {"\"{F} is strange,\" said the other children. But {A} did not think so.",
            "The others played ball and did not look at {F}. {A} saw that {F} was sad."},
           {"{A} thought, \"How would I feel if I were new here?\"",
            "\"{Fhe} must be lonely,\" {A} said to {his} {P}. \"Then go and say hello,\" said {Pname}."},
           {"\nSo {A} went over and said, \"Hello. I am {A}. May I sit with you?\"",
            "\nThe next day, {A} took two apples and went to {F}. \"Would you like one?\" {he} asked."},
           {"{F} looked up. For the first time, {fhe} smiled. \"Yes, please,\" {fhe} said.",
            "At first {F} said nothing. Then {fhe} moved over to make room. \"Thank you,\" {fhe} said softly."},
           {"Soon they were {doing} together. {game}.", "{game}. They laughed so loudly that the others came to see."},
           {"\"Can we play too?\" asked the other children. \"Of course,\" said {F}.",
            "One by one, the other children came and joined in."},
           {"From that day on, {F} was never alone again.", "{A} had found the best friend {he} ever had.",
            "One kind word had changed everything."}}};
}

Plot race() {
  return {true,
          {{"prize", {"a golden cup", "a basket of cherries", "a blue ribbon", "a big cake"}},
           {"goal", {"the old mill", "the bridge", "the tall tree", "the end of the road"}},
           {"hurt",
            {"fell over a root and hurt {fhis} foot", "slipped in the mud and could not get up",
             "stepped into a hole and hurt {fhis} leg"}}},
          {{"{He} was small and not very fast.", "{He} loved to run, but {he} never won."},
           {"\nOne day, there was a race to {goal}. The prize was {prize}.",
            "\nEvery year there was a race to {goal}, and the winner got {prize}."},
           {"\"I will win,\" said a {fkind} named {F}. \"I am the fastest of all. And you, {A}, will be the last!\"",
            "A {fkind} named {F} laughed at {A}. \"You are too slow. You will never win,\" {fhe} said."},
           {"{A} did not get angry. \"I will do my best,\" {he} said.",
            "{A} felt hurt, but {he} said nothing. {He} just wanted to try."},
           {"\nOne, two, three, go! {F} ran off like the wind. {A} was far behind.",
            "\nThe race began. {F} was ahead from the start, and {A} came after all the others."},
           {"But near {goal}, {F} {hurt}. The others ran past and did not stop.",
            "Then {F} looked back to laugh, and {fhe} {hurt}. No one stopped to help."},
           {"{A} could have run past too. But {he} stopped. \"Let me help you,\" {he} said.",
            "When {A} came along, {he} saw that {F} was crying. {He} stopped at once and held out {his} hand."},
           {"\"Why do you help me?\" asked {F}. \"I was mean to you.\" \"Because you need help,\" said {A}.",
            "{F} was surprised. \"But you will lose the race,\" {fhe} said. \"That is all right,\" said {A}."},
           {"Arm in arm, they walked to {goal}. They were the last ones, but everyone clapped and cheered.",
            "Together they came to {goal}, very slowly. All the others were already there, and they cheered for {A}."},
           {"\"I am sorry for what I said,\" said {F}. \"You are the real winner.\"",
            "In the end, {A} got {prize}, because a kind heart is better than fast feet. {He} shared it with {F}."}}};
}

Plot surprise() {
  return {
      true,
      {{"bake", {"a chocolate cake", "a plum cake", "a honey cake", "a carrot cake"}},
       {"wrong;fix",
        {"{He} used salt, not sugar;put honey on top",
         "{He} forgot it, and it got black;cut off the black part and put cream on top",
         "It fell to the floor;made a new one, and {F} helped",
         "It was flat like a plate;put berries and cream on it until it was high"}},
       {"hidden", {"behind the curtain", "under the table", "behind the big chair"}}},
      {{"\nIt was {his} {P}'s birthday, and {A} wanted to make a surprise.",
        "\n\"Tomorrow is {Pname}'s birthday,\" {A} told {friend}. \"I want to make a surprise for {phis} big day.\""},
       {"\"I will bake {bake},\" {he} said. {He} had never done it before.",
        "{He} got up very early to bake {bake}. {He} was as quiet as a mouse."},
       {"{He} took eggs and milk and flour. Soon there was flour on the table, on the floor, and on {his} nose.",
        "{He} mixed and mixed. It went everywhere, even on the walls."},
       {"But something went wrong. {wrong}!", "Then came the bad part. {wrong}. \"Oh no!\" said {A}."},
       {"{A} wanted to give up. \"Now there will be no surprise,\" {he} said.",
        "{He} sat down on the floor. \"I cannot do anything right,\" {he} said."},
       {"\nJust then, {friend} came to the window. \"Do not give up,\" {fhe} said. \"We can fix it.\"",
        "\n\"Wait,\" said {friend}, who had come to help. \"It is not too late.\""},
       {"So {A} {fix}. It looked [funny|a little strange], but it smelled very good.",
        "{A} thought hard. Then {he} {fix}. Now it looked like a real birthday cake."},
       {"They heard steps and hid {hidden}. The door opened. \"Surprise!\" they shouted.",
        "When {Pname} came in, they jumped out from {hidden}. \"Happy birthday!\" they shouted."},
       {"{Pname} laughed and took a bite. \"This is the best cake I ever had,\" {phe} said.",
        "{Pname} had tears in {phis} eyes. \"You made this for me?\" {phe} asked and hugged them both."},
       {"{A} was glad that {he} had not given up.", "They ate every bit of it and sang until it was dark."}}};
}

}  // namespace

std::vector<Plot> plots_about_people() {
  return {afraid(), little_animal(), lost_way(), new_friend(), race(), surprise()};
}

}  // namespace tenon::data
