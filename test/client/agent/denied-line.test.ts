import { createDeniedTargets } from '@palisade/client'
import { describe, expect, it } from 'vitest'

type Denied = Parameters<ReturnType<typeof createDeniedTargets>['add']>[0]

function denial(host: string, changes: Partial<Denied> = {}): Denied {
  const request = { action: 'connect:tcp', host, port: 443 } as const
  return { decision: 'deny', reason: 'default_deny', request, ...changes }
}

function lineOf(...decisions: readonly Denied[]): string | null {
  const targets = createDeniedTargets()
  for (const each of decisions) targets.add(each)
  return targets.line()
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

    expect(lineOf()).toBeNull()
    expect(lineOf(denial('a.test', { decision: 'allow' }))).toBeNull()
    expect(lineOf(denial('a.test', { request: read }))).toBeNull()
    expect(lineOf(denial('a.test', { request: null }))).toBeNull()
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
})
