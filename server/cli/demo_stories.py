"""What the agent of the demo works on: small pieces of work on the sample sessions' order service.

A story is one session. It is told in turns, each a prompt and the steps that answer it; a step is
what the model says and at most one tool that it calls then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that is called, and what it answers.

    arguments: the JSON text as the model writes it.
    """

    name: str
    arguments: str
    answer: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model."""

    text: str
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person asks, and how it is answered.

    todos: the list of open work that is written at the start of the turn, (content, status) each.
    """

    prompt: str
    steps: tuple[Step, ...]
    todos: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """One session from its first prompt to its last answer."""

    title: str
    turns: tuple[Turn, ...]


_FLAKY_WEBHOOK: Final = Story(
    "Webhook test that fails on Mondays",
    (
        Turn(
            "tests/test_webhooks.py::test_expired_signature fails every few runs. Find out why.",
            (
                Step(
                    "I run it a hundred times first, to see how often it fails and with what.",
                    Call(
                        "bash",
                        '{"command": "pytest tests/test_webhooks.py -k expired --count 100 -q"}',
                        "3 failed, 97 passed in 41.20s\n"
                        "E  AssertionError: assert 200 == 401 (signature age 299.9983 s)",
                        is_error=True,
                    ),
                ),
                Step(
                    "Three in a hundred, always a signature that is just under 300 s old. The test "
                    "signs with the real clock and subtracts five minutes afterwards.",
                    Call(
                        "read_file",
                        '{"path": "tests/test_webhooks.py"}',
                        "def test_expired_signature(client):\n"
                        "    signed_at = time.time() - 300\n"
                        "    response = client.post(PATH, headers=sign(body, signed_at))\n"
                        "    assert response.status_code == 401\n",
                    ),
                ),
                Step(
                    "The limit is 300 s and the test is exactly on it: whether it passes depends "
                    "on how long the request takes. A frozen clock and 301 s make it say what it "
                    "means. Shall I change the test, or the limit too?"
                ),
            ),
            (("Reproduce the failure", "in_progress"), ("Name the cause", "pending")),
        ),
        Turn(
            "The test only. And look whether other tests stand on an edge like this.",
            (
                Step(
                    "Changing the test.",
                    Call(
                        "edit_file",
                        '{"path": "tests/test_webhooks.py", "old": "time.time() - 300", '
                        '"new": "FROZEN - 301"}',
                        "1 replacement",
                    ),
                ),
                Step(
                    "Now the others.",
                    Call(
                        "grep",
                        '{"pattern": "time\\\\.time\\\\(\\\\)", "path": "tests"}',
                        "tests/test_sessions.py:88:    expires = time.time() + 60\n"
                        "tests/test_ratelimit.py:41:    start = time.time()",
                    ),
                ),
                Step(
                    "Two more read the real clock; test_ratelimit.py:41 compares with an exact "
                    "second and can fail the same way. I froze it too. 500 runs, no failure."
                ),
            ),
            (
                ("Reproduce the failure", "completed"),
                ("Name the cause", "completed"),
                ("Look for the same in other tests", "in_progress"),
            ),
        ),
    ),
)

_SLOW_EXPORT: Final = Story(
    "订单导出变慢",
    (
        Turn(
            "运营说昨天开始导出订单要等一分多钟，以前只要几秒。帮我查一下原因。",
            (
                Step(
                    "先看慢查询日志，确认是数据库还是生成文件慢。",
                    Call(
                        "bash",
                        '{"command": "psql harbor -c \\"select calls, mean_exec_time, query from '
                        'pg_stat_statements order by mean_exec_time desc limit 3\\""}',
                        " calls | mean_exec_time | query\n"
                        "-------+----------------+-------------------------------------\n"
                        "    41 |       68412.77 | select * from orders where exported_at …\n"
                        "  9120 |           3.10 | select * from orders where id = $1",
                    ),
                ),
                Step(
                    "是数据库：导出的那条查询平均 68 秒。看一下执行计划。",
                    Call(
                        "bash",
                        '{"command": "psql harbor -c \\"explain select * from orders where '
                        "exported_at is null and created_at > now() - interval '30 days'\\\"\"}",
                        "Seq Scan on orders  (cost=0.00..912044.10 rows=4182337)\n"
                        "  Filter: ((exported_at IS NULL) AND (created_at > …))",
                    ),
                ),
                Step(
                    "全表扫描。原来的部分索引 orders_unexported 在昨天的迁移里随旧列一起被删掉了。"
                    "建议用 CREATE INDEX CONCURRENTLY 重建，不锁表。要我写迁移吗？"
                ),
            ),
            (("确认慢在哪里", "in_progress"), ("找出原因", "pending"), ("修复", "pending")),
        ),
        Turn(
            "写吧，顺便加一个测试，别再被悄悄删掉。",
            (
                Step(
                    "迁移和测试一起写。",
                    Call(
                        "edit_file",
                        '{"path": "migrations/0061_unexported_index.sql", "old": "", "new": '
                        '"create index concurrently orders_unexported on orders (created_at) '
                        'where exported_at is null;"}',
                        "已新建文件",
                    ),
                ),
                Step(
                    "跑一遍迁移和测试。",
                    Call(
                        "bash",
                        '{"command": "make migrate && pytest tests/test_indexes.py -q"}',
                        "0061_unexported_index.sql … 完成 (12.4 s)\n2 passed in 0.84s",
                    ),
                ),
                Step(
                    "好了：导出从 68 秒降到 0.9 秒。测试会检查导出查询用到的每个索引都在，"
                    "以后谁删掉它，测试就会失败。"
                ),
            ),
            (("确认慢在哪里", "completed"), ("找出原因", "completed"), ("修复", "in_progress")),
        ),
    ),
)

_RATE_LIMIT: Final = Story(
    "Rate limit for the public API",
    (
        Turn(
            "One partner sends 400 requests a second to GET /orders. Give each API key a limit, "
            "without a new dependency.",
            (
                Step(
                    "I look at where keys are checked; the limit belongs right behind that.",
                    Call(
                        "grep",
                        '{"pattern": "def require_key", "path": "harbor"}',
                        "harbor/auth.py:57:async def require_key(request: Request) -> ApiKey:",
                    ),
                ),
                Step(
                    "A token bucket for each key, in memory: we run one process a region, and the "
                    "limit may be a little generous. 50 a second with bursts of 100.",
                    Call(
                        "edit_file",
                        '{"path": "harbor/ratelimit.py", "old": "", "new": "class TokenBucket: …"}',
                        "new file, 41 lines",
                    ),
                ),
                Step(
                    "Tests for the burst, the refill and the header.",
                    Call(
                        "bash",
                        '{"command": "pytest tests/test_ratelimit.py -q"}',
                        "6 passed in 0.31s",
                    ),
                ),
                Step(
                    "Done: 429 with Retry-After beyond 50 a second per key. Buckets of keys that "
                    "were silent for ten minutes are dropped, so memory stays flat. I could not "
                    "test it against the partner's traffic."
                ),
            ),
            (
                ("Find where keys are checked", "in_progress"),
                ("Token bucket", "pending"),
                ("Tests", "pending"),
            ),
        ),
    ),
)

_WRONG_DAY: Final = Story(
    "日报少了八小时的订单",
    (
        Turn(
            "日报里昨天的订单数比后台少了一百多，时间都在早上八点以前。",
            (
                Step(
                    "早上八点正好是 UTC 和北京时间的差。看日报怎么取“昨天”。",
                    Call(
                        "read_file",
                        '{"path": "harbor/reports/daily.py"}',
                        "def yesterday() -> tuple[datetime, datetime]:\n"
                        "    today = datetime.utcnow().date()\n"
                        "    return midnight(today - timedelta(days=1)), midnight(today)\n",
                    ),
                ),
                Step(
                    "果然：用的是 UTC 的日期。改成店铺所在时区，并补一个跨日的测试。",
                    Call(
                        "bash",
                        '{"command": "pytest tests/test_daily_report.py -q"}',
                        "4 passed in 0.22s",
                    ),
                ),
                Step("改好了。重新生成了昨天的日报：1,204 单，和后台一致。"),
            ),
            (("找出少的是哪些订单", "completed"), ("修正时区", "in_progress")),
        ),
    ),
)

STORIES: Final = (_FLAKY_WEBHOOK, _SLOW_EXPORT, _RATE_LIMIT, _WRONG_DAY)
"""Told one after the other, again and again."""
