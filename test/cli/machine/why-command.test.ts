import type { DecisionRecord } from '@palisade/protocol'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from '../../client/loopback-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { DENIAL, formatLines, RULE, RULE_DENIAL } from './log-records.ts'
import { STATUS } from './status.ts'

const NEAR_MISS = {
  ...RULE,
  rule_name: 'api',
  decision: 'allow',
  resource: 'example.com:443',
  miss: 'subdomain_not_covered',
  message: '`example.com` does not cover names below it',
} as const

async function why(
  denial: DecisionRecord | null,
  argv: readonly string[] = [],
  log = denial === null ? '' : formatLines(denial),
  more: object = {},
): Promise<CliRun & { readonly asked: readonly string[] }> {
  await using directory = await temporaryDirectory()
  await using agent = await startLoopbackServer(
    ({ url }) => {
      if (url === '/v1/status') return { body: { ...STATUS, ...more } }
      if (url === '/v1/explain')
        return {
          body: { ...denial?.decision, matched: [], near_misses: [NEAR_MISS], detail: null },
        }
      return { body: log }
    },
    join(directory.path, 'agent.sock'),
  )
  const result = await runCli(['why', ...argv], { env: { PALISADE_AGENT_SOCKET: agent.url } })
  return { ...result, asked: agent.seen.map(({ url }) => url) }
}

describe('palisade why', () => {
  it('has the support message after a denial by the organization, and no other', async () => {
    const support = { support_message: 'Ask in #net\u009b' }
    const own = structuredClone(RULE_DENIAL)
    for (const rule of own.decision.rules) rule.origin = 'local'

    const first = await why(DENIAL, [], undefined, support)
    const second = await why(own, [], undefined, support)

    expect(first.out).toContain('support   Ask in #net\\u009b\n')
    expect(second.out).not.toContain('#net')
  })

  it('explains a default deny: program, near misses, rule to add, and whom to ask', async () => {
    const { code, out, asked } = await why(DENIAL)

    expect(code).toBe(0)
    expect(asked).toEqual(['/v1/log?limit=1000&denied=1&questions=0', '/v1/status', '/v1/explain'])
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['denied', 'connect:tcp api.example.com:443'],
      ['when', '2026-11-21T11:57:00.000Z, 3 minutes ago'],
      ['by', 'CONNECT through the proxy'],
      ['program', '/usr/bin/curl (4711)'],
      ['reason', 'default_deny (revision 12)'],
      [
        'nearly',
        'allow by rule `api` of policy `web`: example.com:443: ' +
          '`example.com` does not cover names below it',
      ],
      ['to allow', 'allow connect:tcp api.example.com:443'],
      ['request', '`palisade request --reason TEXT` asks for access for a while'],
      ['ask', 'an editor of acme at http://127.0.0.1:8420'],
      ['more', 'palisade explain connect:tcp api.example.com:443'],
      [''],
    ])
  })

  it('names the deciding rules of a denial by rule, and looks for no near misses', async () => {
    const many = { ...RULE_DENIAL.decision, rules_omitted: 4 }

    const { out, asked } = await why({
      ...RULE_DENIAL,
      decision: many,
      count: 7,
      until: '2026-11-21T11:58:00.000Z',
    })

    expect(asked).not.toContain('/v1/explain')
    expect(out).toMatch(/\nrule +deny by rule `no uploads` of policy `web`: \*\.example\.com:443\n/)
    expect(out).toMatch(/\n +and 4 more rules\n/)
    expect(out).toContain('2026-11-21T11:58:00.000Z, 2 minutes ago, 7 times within a minute\n')
    expect(out).toMatch(/\nask +an editor of acme/)
  })

  it('says how to change a rule of the machine’s own, and a missing policy', async () => {
    const file = { ...RULE, origin: 'local' as const }
    const local = { ...RULE_DENIAL.decision, rules: [file] }
    const deny = { ...file, policy_id: 'local_filesystem', rule_id: 'deny_3', resource: '/x y/**' }
    const own = { ...RULE_DENIAL.decision, rules: [deny] }
    const lapsed = { ...DENIAL.decision, reason: 'policy_expired' as const, hint: null }
    const invalid = { ...lapsed, reason: 'invalid_request' as const, request: null }

    expect((await why({ ...DENIAL, decision: local })).out).toMatch(
      /\nundo +change the file of local rules of this machine\n/,
    )
    expect((await why({ ...DENIAL, decision: own })).out).toContain(
      "\nundo     palisade undeny '/x y/**'\n",
    )
    expect((await why({ ...DENIAL, decision: lapsed })).out).toMatch(/\nmore +`palisade status`/)
    const { out } = await why({ ...DENIAL, decision: invalid })
    expect(out).toMatch(/^denied +an invalid request\n/)
    expect(out).not.toMatch(/\n(?:ask|more) /)
  })

  it('says that an open connection was closed, and that the program is unknown', async () => {
    const flow = { bytes_sent: 1, bytes_received: 2, duration_ms: 3, cause: 'revoked' } as const
    const { program: _gone, ...unknown } = DENIAL

    const { out } = await why({ ...unknown, flow })

    expect(out).toMatch(/\nclosed +the connection was open when the policy changed\n/)
    expect(out).toMatch(/\nprogram +unknown: it ended before it was found\n/)
  })

  it('gives a command that a shell reads as it was meant', async () => {
    const request = { action: 'read', path: "/it's $HOME/x" } as const
    const v6 = { action: 'connect:tcp', host: '2001:db8::1', port: 443 } as const
    const at = { ...v6, host: 'a.test', address: '192.0.2.7' } as const
    const commandFor = async (wanted: typeof request | typeof v6 | typeof at) =>
      /\nmore +(.*)\n/.exec(
        (await why({ ...DENIAL, decision: { ...DENIAL.decision, request: wanted } })).out,
      )?.[1]

    expect(await commandFor(request)).toBe(`palisade explain read '/it'\\''s $HOME/x'`)
    expect(await commandFor(v6)).toBe(`palisade explain connect:tcp '[2001:db8::1]:443'`)
    expect(await commandFor(at)).toBe('palisade explain connect:tcp a.test:443 --address 192.0.2.7')
  })

  it('prints one object with the whole record', async () => {
    const { code, out } = await why(DENIAL, ['--json'])

    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({
      denial: DENIAL,
      near_misses: [NEAR_MISS],
      organization: 'acme',
      server: 'http://127.0.0.1:8420',
      support_message: null,
      command: 'palisade explain connect:tcp api.example.com:443',
    })
  })

  it('takes the last denial, not the sums of a minute that were written after it', async () => {
    const at = (second: number): string => `2026-11-21T11:57:0${second}.000Z`
    const last = { ...DENIAL, time: at(5) }
    const sums = { ...RULE_DENIAL, time: at(1), until: at(4), count: 3 }

    const { out } = await why(DENIAL, ['--json'], formatLines(sums, last, sums))

    expect(JSON.parse(out)).toMatchObject({ denial: last })
  })

  it('says that there is no denial yet', async () => {
    expect(await why(null)).toMatchObject({
      code: 0,
      out: 'no denial is recorded yet; `palisade status` shows the policies\n',
    })
    expect(JSON.parse((await why(null, ['--json'])).out)).toMatchObject({
      denial: null,
      command: null,
    })
  })

  it('exits with 1 when no agent runs', async () => {
    const env = { PALISADE_AGENT_SOCKET: '/nonexistent/agent.sock' }

    expect(await runCli(['why'], { env })).toMatchObject({ code: 1, out: '' })
  })
})
