"""Sixty questions with known answers: English, Chinese, and code identifiers, twenty of each.

The questions ask as people do: in other forms of the words than memory uses, by a part of an
identifier, in a sentence full of common words. Among the facts are ones that are easily taken for
each other, and some hundreds of generated notes around them.
"""

from __future__ import annotations

import random

FACTS: dict[str, dict[str, str]] = {
    "people/family": {
        "e01": "The user's sister Clara plays the cello in the Leipzig youth orchestra.",
        "e02": "Clara's cello was stolen from a train and replaced by the insurance.",
        "e03": "The user's brother Tobias is allergic to peanuts and carries an injector.",
        "e04": "Tobias married Ingrid in a lighthouse on Rügen.",
        "e05": "Their grandmother baked plum cake every Sunday.",
        "e06": "The user's father retired from the shipyard after forty years.",
    },
    "home/house": {
        "e07": "The user is replacing the oil heating with a heat pump from Vaillant.",
        "e08": "The kitchen floor was flooded when the dishwasher hose burst.",
        "e09": "The landlord raised the rent by eight percent.",
        "e10": "The neighbours complained about drumming after ten in the evening.",
        "e11": "The spare key lies with Mrs. Abernathy on the second floor.",
    },
    "work/office": {
        "e12": "The team decided against microservices and keeps the monolith.",
        "e13": "Priya reviews every database migration before it is deployed.",
        "e14": "The quarterly planning was moved from Monday to Wednesday.",
        "e15": "The customer Nordlicht pays late but never disputes an invoice.",
        "e16": "The user prefers written proposals to meetings.",
    },
    "health/body": {
        "e17": "The user tore a ligament in the left knee while skiing in Zermatt.",
        "e18": "The dentist recommended a crown for the cracked molar.",
        "e19": "The user sleeps badly after drinking coffee in the afternoon.",
        "e20": "Blood pressure medication was halved by Dr. Okonkwo.",
    },
    "生活/家庭": {
        "c01": "用户的妹妹在成都开了一家咖啡馆。",
        "c02": "用户的父亲去年做了膝盖手术，现在恢复得很好。",
        "c03": "用户养了一只叫年糕的橘猫。",
        "c04": "年糕对鸡肉过敏，只吃鱼罐头。",
        "c05": "全家春节要去哈尔滨看冰灯。",
        "c06": "用户的奶奶会做正宗的腊八粥。",
        "c07": "女儿每周三下午学小提琴。",
    },
    "生活/居住": {
        "c08": "用户从杭州搬到了上海浦东。",
        "c09": "房租每月六千五百元，押一付三。",
        "c10": "楼下的便利店二十四小时营业。",
        "c11": "用户坐地铁二号线去公司上班。",
        "c12": "客厅的空调漏水，房东答应下周修。",
        "c13": "小区的快递柜密码每天都会变。",
    },
    "工作/项目": {
        "c14": "团队决定用向量数据库代替全文检索。",
        "c15": "王芳负责前端的重构工作。",
        "c16": "测试环境每天凌晨三点自动重启。",
        "c17": "客户要求在国庆节之前交付第一版。",
        "c18": "用户不喜欢在会议上做决定。",
        "c19": "论文投到了自然语言处理的顶级会议。",
        "c20": "李雷的护照下个月到期，需要尽快换发。",
    },
    "code/server": {
        "k01": "`retryBudget` limits how often the gateway repeats a failed call.",
        "k02": "`parse_topic_header` chokes on a byte order mark.",
        "k03": "The cache lives in `cache/http_store.py` and is cleared at midnight.",
        "k04": "`MAX_OPEN_LINKS` was raised from 64 to 512.",
        "k05": "`HTTPSessionPool` leaks sockets when a request is cancelled.",
        "k06": "The feature flag `enable-dark-mode` is off in production.",
        "k07": "`docker-compose.override.yml` must never be committed.",
        "k08": "The error E0277 comes from a missing trait bound.",
        "k09": "`UserRepository.findByEmail` ignores upper and lower case.",
        "k10": "Version 3.12.1 of the interpreter broke the build.",
    },
    "code/client": {
        "k11": "`onResume()` reloads the feed twice on Android.",
        "k12": "The environment variable `SCRIPT_HOME_DIR` overrides the default folder.",
        "k13": "`std::string_view` dangles after `trimWhitespace` returns.",
        "k14": "The port 8443 is reserved for the metrics exporter.",
        "k15": "`src/net/TcpListener.cpp` holds the accept loop.",
        "k16": "`useDebouncedValue` waits 300 ms before it fires.",
        "k17": "The table `order_items` has no index on `sku_code`.",
        "k18": "Commit 9f3c2ab introduced the time zone bug.",
        "k19": "`JSONDecodeError` is swallowed by the outer handler.",
        "k20": "The linter rule `no-floating-promises` is a warning for now.",
    },
}

QUESTIONS: list[tuple[str, str]] = [
    ("which instrument does Clara play?", "e01"),
    ("what happened to the stolen cello", "e02"),
    ("who has an allergy to peanuts", "e03"),
    ("where did Tobias get married to Ingrid?", "e04"),
    ("what did the grandmother bake on Sundays", "e05"),
    ("from which job did the father retire", "e06"),
    ("what replaces the oil heating", "e07"),
    ("why was there a flood in the kitchen", "e08"),
    ("how much was the rent raised by the landlord", "e09"),
    ("did any neighbour complain about the drums", "e10"),
    ("who keeps the spare keys", "e11"),
    ("what was decided about microservice architecture", "e12"),
    ("who is reviewing database migrations?", "e13"),
    ("when is the quarterly plan meeting now", "e14"),
    ("does Nordlicht dispute invoices", "e15"),
    ("does the user prefer a meeting or a written proposal", "e16"),
    ("which knee was injured skiing", "e17"),
    ("what does the dentist recommend for the molar", "e18"),
    ("sleeping problems because of coffee", "e19"),
    ("what did Okonkwo do", "e20"),
    ("妹妹的咖啡馆开在哪里", "c01"),
    ("爸爸做了什么手术", "c02"),
    ("用户养的猫叫什么名字", "c03"),
    ("年糕对什么过敏", "c04"),
    ("春节去哪里玩", "c05"),
    ("谁会做腊八粥", "c06"),
    ("女儿什么时候学小提琴", "c07"),
    ("用户是从哪个城市搬到浦东的", "c08"),
    ("每个月的房租是多少", "c09"),
    ("便利店营业到几点", "c10"),
    ("怎么去公司上班，坐几号线", "c11"),
    ("空调漏水了谁来修", "c12"),
    ("快递柜的密码", "c13"),
    ("为什么不用全文检索了", "c14"),
    ("前端重构是谁负责", "c15"),
    ("测试环境几点重启", "c16"),
    ("第一版什么时候交付", "c17"),
    ("用户对会议的看法，喜欢开会做决定吗", "c18"),
    ("论文投稿到哪个会议", "c19"),
    ("护照什么时候到期", "c20"),
    ("retryBudget", "k01"),
    ("what breaks parse topic header", "k02"),
    ("http_store.py", "k03"),
    ("max open links", "k04"),
    ("HttpSessionPool socket leak", "k05"),
    ("is dark mode enabled in production?", "k06"),
    ("docker compose override", "k07"),
    ("E0277", "k08"),
    ("find by email case sensitivity", "k09"),
    ("python 3.12.1 problem", "k10"),
    ("why does onResume reload twice", "k11"),
    ("script_home_dir", "k12"),
    ("string_view trim whitespace", "k13"),
    ("what uses port 8443", "k14"),
    ("where is the accept loop of the tcp listener", "k15"),
    ("use debounced value delay", "k16"),
    ("sku code index on order items", "k17"),
    ("9f3c2ab", "k18"),
    ("json decode error handler", "k19"),
    ("floating promises lint", "k20"),
]

_WHO = ("The user", "Mira", "The team", "小林", "Jonas", "王芳", "The landlord", "Clara", "用户")
_DID = (
    "moved the meeting about {} to next week",
    "decided to keep {} for another year",
    "wrote a long note on {} and sent it around",
    "认为{}比较合适，下周再决定",
    "renamed the module that deals with {}",
    "bought {} for the office kitchen",
    "把{}的超时改成了三十秒",
)
_WHAT = (
    *("the old bicycle", "green tea", "the quarterly report", "夜班", "a standing desk", "旧相机"),
    *(
        "parse_cache",
        "retryQueue",
        "http_client.py",
        "MAX_SIZE",
        "the dentist",
        "the train",
        "春节",
    ),
)


def noise(count: int) -> dict[str, str]:
    """Notes that answer none of the questions, the same ones each time."""
    chance = random.Random(60)  # noqa: S311 - no secret
    return {f"n{number:03}": f"{chance.choice(_WHO)} {_did(chance)}." for number in range(count)}


def _did(chance: random.Random) -> str:
    return chance.choice(_DID).format(chance.choice(_WHAT))
