import { describe, expect, it } from 'vitest'
import {
  decideWithParent,
  explainWithParent,
} from '../../../../agent/src/proxy/parent/decide-with-parent.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf } from '../../fixture/bundle.ts'

const request = (host: string, port = 443) => ({ action: 'connect:tcp', host, port })

function start() {
  const { active, use } = activePolicy()
  use(
    bundleOf(
      ['allow', 'connect:tcp', '*.a.test', '0.0.0.0/0', '127.0.0.1'],
      ['deny', 'connect:tcp', 'bad.a.test', '10.0.0.0/8'],
      ['allow', 'connect:udp', '*.a.test'],
    ),
  )
  return active
}

const parent = {
  isParent: (host: string, port: number) =>
    port === 3128 && ['proxy.a.test', '127.0.0.1', '192.0.2.9'].includes(host),
  resolves: (asked: { readonly action: string }) => asked.action === 'connect:tcp',
}

describe('a decision where the parent resolves', () => {
  it('is final for an allowed name', () => {
    const made = decideWithParent(start().decide(request('x.a.test')), parent)

    expect(made).toMatchObject({ decision: 'allow', reason: 'rule', hint: null })
    expect(made).not.toHaveProperty('address_required')
  })

  it('is a final denial for a name that only an address could allow', () => {
    const active = start()
    expect(active.decide(request('x.b.test'))).toMatchObject({ address_required: true })

    for (const made of [
      decideWithParent(active.decide(request('x.b.test')), parent),
      explainWithParent(active.explain(request('x.b.test')), parent),
    ]) {
      expect(made).toMatchObject({
        decision: 'deny',
        reason: 'default_deny',
        hint:
          'the parent proxy resolves names, so only a rule on the name counts: ' +
          'allow connect:tcp x.b.test:443',
      })
      expect(made).not.toHaveProperty('address_required')
    }
  })

  it.each(['bad.a.test', '10.0.0.1', '192.0.2.1', '169.254.169.254'])(
    'stays as it is for %s, which needs no address',
    (host) => {
      const made = start().decide(request(host))

      expect(decideWithParent(made, parent)).toEqual(made)
    },
  )

  it('is a final denial for UDP, which the parent does not carry', () => {
    const active = start()
    const denied = {
      decision: 'deny',
      reason: 'default_deny',
      rules: [],
      hint: 'the parent proxy carries no datagrams, whatever a rule allows; use TCP',
    }

    for (const host of ['x.a.test', 'x.b.test', '192.0.2.1']) {
      const asked = { ...request(host), action: 'connect:udp' }
      const made = decideWithParent(active.decide(asked), parent)
      const explained = explainWithParent(active.explain(asked), parent)

      expect(made).toMatchObject(denied)
      expect(made).not.toHaveProperty('address_required')
      expect(explained).toMatchObject(denied)
      expect(explained.matched.every(({ deciding }) => !deciding)).toBe(true)
    }
  })

  it('stays a denial of its own for UDP to a protected address', () => {
    const made = start().decide({ ...request('169.254.169.254'), action: 'connect:udp' })

    expect(decideWithParent(made, parent)).toEqual(made)
  })

  it('is a denial for the parent itself, by name or address', () => {
    const active = start()

    for (const host of ['proxy.a.test', '127.0.0.1', '192.0.2.9']) {
      const asked = request(host, 3128)
      const denied = { decision: 'deny', reason: 'protected_address', rules: [] }
      expect(decideWithParent(active.decide(asked), parent)).toMatchObject(denied)
      expect(explainWithParent(active.explain(asked), parent)).toMatchObject({
        ...denied,
        detail: 'the address is that of the parent proxy',
      })
      expect(decideWithParent(active.decide(request(host, 3129)), parent).decision).toBe('allow')
    }
  })
})
