import { createDeniedTargets } from '@palisade/client'
import { describe, expect, it } from 'vitest'

type Denied = Parameters<ReturnType<typeof createDeniedTargets>['add']>[0]

function denial(host: string, changes: Partial<Denied> = {}): Denied {
  const request = { action: 'connect:tcp', host, port: 443 } as const
  return { decision: 'deny', reason: 'default_deny', request, rules: [], ...changes }
}

function linesOf(support: string | undefined, ...decisions: readonly Denied[]): readonly string[] {
  const targets = createDeniedTargets()
  for (const each of decisions) targets.add(each)
  return targets.lines(support)
}

function lineOf(...decisions: readonly Denied[]): string | undefined {
  return linesOf(undefined, ...decisions)[0]
}

/** A denial by a rule of the organization or of the user. */
function ruledBy(origin: 'org' | 'local'): Denied {
  return denial('ruled.test', { reason: 'rule', rules: [{ origin }] })
}

describe('the line of denied targets', () => {
  it('names the most denied first, with the request for access to it', () => {
    const line = lineOf(denial('pastebin.com'), denial('gitlab.com'), denial('gitlab.com'))

    expect(line).toBe(
      '3 denied: gitlab.com:443 (2), pastebin.com:443 – palisade request gitlab.com:443',
    )
  })

  it('is absent without a denied connection', () => {
    const read = { action: 'read', path: '/x' } as const

    const none = [
      denial('a.test', { decision: 'allow' }),
      denial('a.test', { request: read }),
      denial('a.test', { request: null }),
    ]
    expect(linesOf('Ask in #network')).toEqual([])
    expect(linesOf('Ask in #network', ...none)).toEqual([])
  })

  it('advises a request only for a target that one may open', () => {
    const metadata = denial('169.254.169.254', { reason: 'protected_address' })
    const ruled = denial('uploads.test', { reason: 'rule' })

    expect(lineOf(metadata, ruled)).toBe(
      '2 denied: 169.254.169.254:443, uploads.test:443 – palisade why',
    )
    expect(lineOf(metadata, metadata, denial('a.test'))).toMatch(/ – palisade request a\.test:443$/)
  })

  it('spells addresses and datagrams as `palisade request` reads them', () => {
    const host = '2001:db8::1'
    const datagram = denial(host, { request: { action: 'connect:udp', host, port: 53 } })

    expect(lineOf(datagram)).toBe(
      '1 denied: [2001:db8::1]:53 – palisade request [2001:db8::1]:53 --action connect:udp',
    )
  })

  it('stays short, and counts all, for a program that asks for very many', () => {
    const line = lineOf(...Array.from({ length: 5_000 }, (_, index) => denial(`h${index}.test`)))

    expect(line).toMatch(/^5000 denied: /)
    expect(line).toContain(', … – palisade request h0.test:443')
    expect(line?.length).toBeLessThan(200)
  })

  it('has the support message after it when policies of the organization denied', () => {
    const protectedOne = denial('a.test', { reason: 'protected_address' })

    expect(linesOf('Ask', denial('a.test'))[1]).toBe('Ask')
    expect(linesOf('Ask', protectedOne, ruledBy('local'), ruledBy('org')).slice(1)).toEqual(['Ask'])
    expect(linesOf('Ask', ruledBy('local'), protectedOne).slice(1)).toEqual(['Ask'])
    expect(linesOf('Ask', ruledBy('local'))).toHaveLength(1)
    expect(linesOf(undefined, denial('a.test'))).toHaveLength(1)
  })
})
