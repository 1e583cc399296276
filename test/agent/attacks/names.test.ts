import { describe, expect, it } from 'vitest'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../fixture/bundle.ts'
import {
  ask,
  DIALECTS,
  expectUntouched,
  NAMES,
  RULES,
  startAttack,
  type Dialect,
  type Outcome,
} from '../fixture/attack-scene.ts'
import { connectTo, exchangeRaw } from '../fixture/proxy.ts'

/** Asks for each host in each dialect; expects one outcome, and no query and no connection. */
async function expectRefused(
  hosts: readonly string[],
  outcome: Outcome,
  dialects: readonly Dialect[] = DIALECTS,
  rules: readonly RuleLine[] = RULES,
): Promise<void> {
  const scene = await startAttack({ rules })
  for (const host of hosts) {
    for (const dialect of dialects)
      expect([host, dialect, await ask(scene, dialect, host)]).toEqual([host, dialect, outcome])
  }
  expectUntouched(scene)
  const denials = scene.decisions.filter(({ decision }) => decision === 'deny').length
  expect([denials, scene.decisions.length]).toEqual(
    outcome === 'denied'
      ? [hosts.length * dialects.length, hosts.length * dialects.length]
      : [0, 0],
  )
}

function decideName(host: string, ...rules: readonly RuleLine[]): unknown {
  const { active, use } = activePolicy()
  use(bundleOf(...rules))
  return active.decide({ action: 'connect:tcp', host, port: 443 })
}

describe('case 1: another letter case', () => {
  it.each(DIALECTS)('case 1: is the same name in %s', async (dialect) => {
    const scene = await startAttack()

    expect(await ask(scene, dialect, 'ALLOWED.TEST')).toBe('granted')
    expect(await ask(scene, dialect, 'X.Allowed.Test')).toBe('granted')
    expect(scene.resolved).toEqual(['allowed.test', 'x.allowed.test'])
    expect(await ask(scene, dialect, 'Bad.Allowed.Test')).toBe('denied')
    expect(scene.resolved).toHaveLength(2)
    expect(scene.dialled).toEqual(['198.51.100.1:443', '198.51.100.1:443'])
  })
})

describe('spellings of a name', () => {
  it('case 2: a trailing dot is folded, two dots are malformed', async () => {
    await expectRefused(['bad.allowed.test.', 'evil.test.'], 'denied')
    await expectRefused(['bad.allowed.test..', 'x..allowed.test', '.allowed.test'], 'malformed')
  })

  it('case 3: full-width, soft hyphen and ideographic dots are folded or refused', async () => {
    const spellings = ['ｂad.allowed.test', 'ba\u00add.allowed.test', 'bad。allowed。test']

    for (const host of spellings)
      expect(decideName(host, ...RULES)).toMatchObject({
        decision: 'deny',
        reason: 'rule',
        request: { host: 'bad.allowed.test' },
      })
    // On the wire names are ASCII, so the proxy refuses them before any rule is read.
    await expectRefused(spellings, 'malformed')
  })

  it('case 4: an international name and its A-label are one name', async () => {
    const names = { 'xn--bcher-kva.test': ['198.51.100.1'] }
    for (const resource of ['bücher.test:443', 'xn--bcher-kva.test:443']) {
      const rule: RuleLine = ['allow', 'connect:tcp', resource]
      const scene = await startAttack({ rules: [rule], names })
      for (const dialect of DIALECTS)
        expect(await ask(scene, dialect, 'XN--BCHER-KVA.test')).toBe('granted')
      const allowed = decideName('xn--bcher-kva.test', rule)
      expect(decideName('bücher.test', rule)).toEqual(allowed)
      await expectRefused(['xn--bcher-kva.test'], 'denied', DIALECTS, [
        ['allow', 'connect:tcp', '**.test:443'],
        ['deny', 'connect:tcp', resource],
      ])
    }
  })

  it('case 5: a look-alike name matches no rule', async () => {
    await expectRefused(['xn--llowed-3ve.test', 'x.xn--llowed-3ve.test', 'a1lowed.test'], 'denied')
  })

  it.each([
    ['NUL', '\0'],
    ['CR', '\r'],
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['a space', ' '],
    ['a tab', '\t'],
    ['%00', '%00'],
    ['%2e', '%2e'],
    ['#', '#'],
    ['a backslash', '\\'],
    ['a slash', '/'],
  ])('case 6: %s in a host is refused before any rule is read', async (_title, text) => {
    await expectRefused([`x${text}.allowed.test`, `evil.test${text}.allowed.test`], 'malformed')
  })

  it('case 7: a user part is refused', async () => {
    await expectRefused(['allowed.test@evil.test', 'evil.test:443@allowed.test'], 'malformed')
  })

  it('case 8: a suffix or an apex is not a subdomain', async () => {
    await expectRefused(['evilallowed.test', 'allowed.test.evil.test'], 'denied')
    for (const resource of ['*.allowed.test:443', '**.allowed.test:443'])
      await expectRefused(['allowed.test'], 'denied', DIALECTS, [
        ['allow', 'connect:tcp', resource],
      ])
  })

  it('case 9: one star is one label', async () => {
    await expectRefused(['a.b.allowed.test'], 'denied', DIALECTS, [
      ['allow', 'connect:tcp', '*.allowed.test:443'],
    ])
  })

  it('case 10: a bracketed name, and IPv6 without brackets, are refused', async () => {
    await expectRefused(['[allowed.test]', '::1', '2001:db8::1'], 'malformed')
  })

  it('case 11: too long names and labels, and empty labels, are refused', async () => {
    const long = `${'a.'.repeat(121)}allowed.test`
    expect(long).toHaveLength(254)
    await expectRefused([long, `${'a'.repeat(64)}.allowed.test`, '', '.'], 'malformed')
    // The longest name is valid.
    const scene = await startAttack({ names: { ...NAMES, [long.slice(1)]: [] } })
    expect((await exchangeRaw(scene.port, connectTo(`${long.slice(2)}:443`))).status).toBe(502)
  })
})
