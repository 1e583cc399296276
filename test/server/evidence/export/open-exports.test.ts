import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../../../server/src/config/config.ts'
import { openExports } from '../../../../server/src/evidence/export/open-exports.ts'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice, headersOf } from '../../test-device.ts'
import { openTestServer } from '../../test-server.ts'
import { HEADER, linesOf, recordOf, textOf } from '../ingest/batch-text.ts'
import { startCollector, startSyslog } from './receivers.ts'

const RECORDS = '/api/v1/device/records'
const PATIENCE = { timeout: 60_000 }

describe('a server with an export', () => {
  it('sends what machines upload to both receivers, and shows how far it is', async () => {
    const collector = await startCollector()
    const syslog = await startSyslog()
    const settings = {
      PALISADE_EXPORT_OTLP_URL: collector.url,
      PALISADE_EXPORT_SYSLOG: `tcp://127.0.0.1:${syslog.port}`,
    }
    const test = await openTestServer(onTestFinished, { settings })
    const owner = await openOwner(test, 'acme', 'alice')
    await owner.uploadEverything()
    const device = await enrolTestDevice(test, owner.as, 'acme', { name: 'laptop', user: 'alice' })
    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    await expect.poll(() => test.evidence.lease('syslog', 'test', 1, 0), PATIENCE).toBe(true)

    const answer = await test.server.app.inject({
      method: 'POST',
      url: RECORDS,
      headers: {
        ...headersOf(device, 'POST', RECORDS),
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
      payload: gzipSync(textOf(HEADER, linesOf([recordOf()]))),
    })
    expect(answer.statusCode).toBe(200)
    await expect.poll(() => collector.calls, PATIENCE).toEqual([['1']])
    await expect.poll(() => syslog.messages.length, PATIENCE).toBe(1)
    expect(syslog.messages[0]).toContain(' laptop palisade - decision ')
    const metrics = async () => (await test.server.app.inject('/metrics')).body
    await expect
      .poll(metrics, PATIENCE)
      .toContain('palisade_export_records_total{exporter="syslog"} 1')
    expect(await metrics()).toContain('palisade_export_dropped_total 0')
  })
})

describe('exporters that become known', () => {
  it('are started once, however long that takes', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { promise, resolve } = Promise.withResolvers<number>()
    const looks: string[] = []
    const { task } = openExports({
      settings: {
        otlp: { url: 'http://127.0.0.1:1/v1/logs', headers: {} },
        syslog: null,
        caFile: null,
      },
      evidence: {
        setExporters: () => promise,
        countUnexported: async () => ({ records: 0, oldest_ms: null, is_known: true }),
        unexported: async (name: string) => {
          looks.push(name)
          return { ids: [], rows: [] }
        },
      } as never,
      store: { read: async () => new Map() as never },
      version: '1',
      log: { info: () => undefined, warn: () => undefined } as never,
      sources: { monotonicMs: () => 0, newId: () => 'a', now: () => new Date(0) },
    })
    task.start()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(looks).toEqual([])
    resolve(0)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(looks).toEqual(['otlp'])
    await task.stop()
  })
})

describe('the settings of the export', () => {
  const read = (environment: Record<string, string>) => readConfig(environment, '/srv').exports

  it('are addresses, headers and a file', () => {
    expect(
      read({
        PALISADE_EXPORT_OTLP_URL: 'https://collector.example:4318/v1/logs',
        PALISADE_EXPORT_OTLP_HEADERS: 'Authorization=Bearer%20a=b,x-scope=1',
        PALISADE_EXPORT_SYSLOG: 'tls://[2001:db8::1]:6514',
        PALISADE_EXPORT_CA: 'ca.pem',
      }),
    ).toEqual({
      otlp: {
        url: 'https://collector.example:4318/v1/logs',
        headers: { authorization: 'Bearer a=b', 'x-scope': '1' },
      },
      syslog: { host: '2001:db8::1', port: 6514, tls: true },
      caFile: '/srv/ca.pem',
    })
  })

  it.each([
    ['PALISADE_EXPORT_OTLP_URL', 'collector:4318'],
    ['PALISADE_EXPORT_OTLP_URL', 'http://user:secret@collector/v1/logs'],
    ['PALISADE_EXPORT_OTLP_URL', 'file:///v1/logs'],
    ['PALISADE_EXPORT_OTLP_HEADERS', 'x-token'],
    ['PALISADE_EXPORT_OTLP_HEADERS', 'x=a%0d%0aother: b'],
    ['PALISADE_EXPORT_OTLP_HEADERS', 'content-length=1'],
    ['PALISADE_EXPORT_OTLP_HEADERS', 'x=%'],
    ['PALISADE_EXPORT_SYSLOG', 'udp://host:514'],
    ['PALISADE_EXPORT_SYSLOG', 'tls://other'],
    ['PALISADE_EXPORT_SYSLOG', 'tcp://host:70000'],
  ])('refuse %s of `%s`, and do not repeat it', (name, value) => {
    const refuse = () => read({ [name]: value })
    expect(refuse).toThrow(`\`${name}\` must be`)
    expect(refuse).not.toThrow(value)
  })
})
