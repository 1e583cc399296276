import { describe, expect, it } from 'vitest'
import { formatOtlpLogs } from '../../../../server/src/evidence/export/otlp-logs.ts'
import { auditEvent } from './audit-events.ts'

describe('decisions as logs of OpenTelemetry', () => {
  it('have the JSON encoding of OTLP', async () => {
    const event = auditEvent({ agent: '/bin/x\ud800', revision: null })
    const { resourceLogs } = JSON.parse(await formatOtlpLogs([event], '1.2.3'))
    expect(resourceLogs).toHaveLength(1)
    const [{ resource, scopeLogs }] = resourceLogs
    expect(resource.attributes).toEqual([
      { key: 'service.name', value: { stringValue: 'palisade-server' } },
    ])
    expect(scopeLogs[0].scope).toEqual({ name: 'palisade.evidence', version: '1.2.3' })
    const [record] = scopeLogs[0].logRecords
    expect(record).toMatchObject({
      timeUnixNano: '1795694400001000000',
      observedTimeUnixNano: '1795694401000000000',
      severityNumber: 13,
      severityText: 'WARN',
      eventName: 'palisade.decision',
      body: { stringValue: 'deny example.com:443' },
    })
    const attributes = Object.fromEntries(
      record.attributes.map(({ key, value }: { key: string; value: object }) => [key, value]),
    )
    expect(attributes).toMatchObject({
      'palisade.audit_event_id': { stringValue: '7' },
      'palisade.count': { intValue: '2' },
      'server.port': { intValue: '443' },
      'process.executable.path': { stringValue: '/bin/x\ufffd' },
    })
    expect(attributes).not.toHaveProperty(['palisade.revision'])
    expect(attributes).not.toHaveProperty(['file.path'])
  })
})
