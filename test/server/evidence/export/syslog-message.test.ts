import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatSyslog } from '../../../../server/src/evidence/export/syslog-message.ts'
import { auditEvent } from './audit-events.ts'

const HEAD = String.raw`<\d+>1 \S+ [\x21-\x7e]{1,255} palisade - decision`
const PARAMETERS = String.raw`( [a-z]+="(\\["\\\]]|[^"\\\]])*")+`
const MESSAGE = new RegExp(String.raw`^${HEAD} \[palisade@32473${PARAMETERS}\] (?<json>.*)$`)

describe('a decision as a message of syslog', () => {
  it('has the parts of RFC 5424, with its length before it', () => {
    const text = formatSyslog(auditEvent())
    const [length = ''] = text.split(' ', 1)
    const message = text.slice(length.length + 1)
    expect(Number(length)).toBe(Buffer.byteLength(message))
    expect(message.slice(0, message.indexOf('{'))).toBe(
      '<108>1 2026-11-26T12:00:00.001Z laptop palisade - decision ' +
        '[palisade@32473 id="7" org="acme" decision="deny" reason="default_deny" ' +
        'resource="example.com:443" user="alice" device="dev_1" count="2"] ',
    )
    expect(JSON.parse(message.slice(message.indexOf('{')))).toEqual(auditEvent())
    expect(formatSyslog(auditEvent({ decision: 'AUDIT_DECISION_ALLOW' }))).toContain('<110>1 ')
  })

  it('is one line of ASCII, whatever names and paths a machine has chosen', () => {
    const any = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"] [x@1 a="1"', '\n<0>1 - - - - - -', '\\', '\ud800', '\u202e', '\0'),
    )
    fc.assert(
      fc.property(any, any, any, (resource_id, username, hostname) => {
        const payload = { resource_id, deny_reason: [] }
        const text = formatSyslog(auditEvent({ payload, username, hostname }))
        const message = text.slice(text.indexOf(' ') + 1)
        expect(text).toMatch(/^[\x20-\x7e]+$/)
        const parts = MESSAGE.exec(message)
        const event = JSON.parse(parts?.groups?.['json'] ?? 'null')
        expect(event).toMatchObject({ username, hostname, payload: { resource_id } })
      }),
    )
  })
})
