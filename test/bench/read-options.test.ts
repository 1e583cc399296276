import { describe, expect, it } from 'vitest'
import { AGENT_GROUPS } from '../../bench/src/agent/run-agent-bench.ts'
import { DOMAIN_NAMES, nameOfCase, WORST_INPUTS } from '../../bench/src/case.ts'
import { BOUNDS } from '../../bench/src/goals/bounds.ts'
import { HELP } from '../../bench/src/help.ts'
import { EVIDENCE_GROUPS } from '../../bench/src/evidence/run-evidence-bench.ts'
import { HINTS_GROUPS } from '../../bench/src/hints/run-hints-bench.ts'
import { GROUPS, planRun, type Group } from '../../bench/src/plan.ts'
import { SANDBOX_GROUPS } from '../../bench/src/sandbox/run-sandbox-bench.ts'
import { SERVER_GROUPS } from '../../bench/src/server/run-server-bench.ts'
import { readOptions } from '../../bench/src/read-options.ts'

describe('readOptions', () => {
  it('parses `--quick` and `--only`', () => {
    const subject = 'decisions'
    expect(readOptions([])).toEqual({ subject, quick: false, only: null })
    expect(readOptions(['--quick', '--only', 'paths'])).toEqual({
      subject,
      quick: true,
      only: 'paths',
    })
  })

  it('parses the other subjects', () => {
    const subject = 'server'
    expect(readOptions(['server'])).toEqual({ subject, quick: false, only: null })
    expect(readOptions(['server', '--only', 'large'])).toEqual({
      subject,
      quick: false,
      only: 'large',
    })
    expect(readOptions(['server', '--only', 'paths'])).toContain('write one of requests, start')
    expect(readOptions(['agent', '--quick'])).toEqual({ subject: 'agent', quick: true, only: null })
    expect(readOptions(['agent', '--only', 'large'])).toContain('write one of start, rest, updates')
    expect(readOptions(['hints'])).toEqual({ subject: 'hints', quick: false, only: null })
    expect(readOptions(['sandbox', '--only', 'masks'])).toEqual({
      subject: 'sandbox',
      quick: false,
      only: 'masks',
    })
    expect(readOptions(['evidence', '--only', 'audit'])).toEqual({
      subject: 'evidence',
      quick: false,
      only: 'audit',
    })
    expect(readOptions(['machine'])).toContain(
      'write `server`, `agent`, `sandbox`, `hints`, `evidence`, `replay`, `fleet` or no subject',
    )
    expect(readOptions(['replay', '--quick'])).toEqual({ subject: 'replay', quick: true })
    expect(readOptions(['replay', '--only', 'large'])).toContain('leave it out')
    expect(readOptions(['server', 'agent'])).toContain('unknown subject `server agent`')
  })

  it('shows help whatever the other arguments are, and names every group in it', () => {
    expect(readOptions(['--help'])).toEqual({ subject: 'help' })
    expect(readOptions(['server', '-h'])).toEqual({ subject: 'help' })
    expect(readOptions(['--halp'])).toContain('or `--help`')
    for (const group of [
      ...GROUPS,
      ...SERVER_GROUPS,
      ...AGENT_GROUPS,
      ...SANDBOX_GROUPS,
      ...HINTS_GROUPS,
      ...EVIDENCE_GROUPS,
    ])
      expect(HELP).toContain(group)
  })

  it('parses the size and the duration of a fleet', () => {
    const subject = 'fleet'
    expect(readOptions(['fleet'])).toEqual({ subject, agents: 100_000, minutes: 28 })
    expect(readOptions(['fleet', '--agents', '2000', '--minutes', '1.5'])).toEqual({
      subject,
      agents: 2000,
      minutes: 1.5,
    })
  })

  it.each([
    [['fleet', '--agents', '0'], '`--agents 0` must be'],
    [['fleet', '--agents', '1.5'], '`--agents 1.5` must be'],
    [['fleet', '--agents', '1e6'], '`--agents 1e6` must be'],
    [['fleet', '--agents', '1000001'], '`--agents 1000001` must be'],
    [['fleet', '--minutes', '0'], '`--minutes 0` must be'],
    [['fleet', '--minutes', 'x'], '`--minutes x` must be'],
    [['fleet', '--quick'], 'has no `--quick`'],
    [['fleet', '--only', 'x'], 'has no `--quick` and no `--only`'],
    [['server', '--agents', '5'], 'are for `fleet`'],
    [['--minutes', '5'], 'are for `fleet`'],
  ])('rejects %j with a reason', (argv, said) => {
    expect(readOptions(argv)).toContain(said)
  })

  it('names the alternatives to an unknown group or argument', () => {
    expect(readOptions(['--only', 'ports'])).toBe(
      'unknown group `--only ports`; ' +
        'write one of hosts, addresses, paths, connect, compile, organization, worst',
    )
    expect(readOptions(['--fast'])).toContain(
      'write `[server|agent|sandbox|hints|evidence|replay] [--quick]',
    )
  })
})

describe('planRun', () => {
  it('holds only the cases of the requested group', () => {
    const only = (group: Group) => planRun(true, group).cases.map((planned) => planned.case)
    const domains = only('hosts').map((each) => ('domain' in each ? each.domain : each.kind))

    expect(new Set(domains)).toEqual(new Set(['hosts']))
    expect(new Set(only('compile').map(({ kind }) => kind))).toEqual(
      new Set(['first compile', 'compile']),
    )
    expect(new Set(only('worst').map(({ kind }) => kind))).toEqual(
      new Set(['first decision', 'explain all']),
    )
  })

  it('takes single readings in several processes', () => {
    const { cases } = planRun(false, 'worst')

    expect(cases.every(({ runs }) => runs >= 5)).toBe(true)
  })

  it('measures every goal', () => {
    const measured = planRun(false, null).cases.map((planned) => nameOfCase(planned.case))

    expect(measured).toEqual(
      expect.arrayContaining([
        ...DOMAIN_NAMES.flatMap((domain) => [
          ...[10, ...BOUNDS[domain].baseline.sizes].map((size) => `${domain} ${size} mixed fresh`),
          ...Object.keys(BOUNDS[domain].compileMs).map((size) => `first compile ${domain} ${size}`),
          ...BOUNDS[domain].memorySizes.map((size) => `compile ${domain} ${size}`),
        ]),
        ...WORST_INPUTS.map((input) => `first decision: ${input}`),
        'explain, 25000 rules match, first',
        'explain, 25000 rules match, warm',
      ]),
    )
  })

  it('ends within ten minutes, or within one minute for a quick run', () => {
    expect(planRun(false, null).totalMs).toBeLessThanOrEqual(600_000)
    expect(planRun(true, null).totalMs).toBeLessThanOrEqual(60_000)
  })
})
