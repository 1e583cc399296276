import { deviceReportSchema, type Assurance, type DeviceReport } from '@palisade/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createProbeResults } from '../../../agent/src/probe/proxy/probe-results.ts'
import { reportToServer } from '../../../agent/src/report/report-to-server.ts'
import { fault } from '../../../agent/src/sync/fault.ts'
import type { Fetched } from '../../../agent/src/sync/transport/fetch-file.ts'
import { activePolicy } from '../fixture/active-policy.ts'

const BODY: Fetched = { kind: 'body', body: Buffer.from('{}'), etag: null }

/** A machine whose proxy passed its self-probe, and a server that answers its reports. */
function startReporter(answer: (report: DeviceReport) => Fetched) {
  const { active } = activePolicy()
  const sent: DeviceReport[] = []
  let assurance: Assurance = { class: 'proxy-only', reason: 'a sandbox was not tried yet' }
  const results = createProbeResults({ clock: () => 0, isShared: false })
  results.note('proxy', { at: '', ok: true, detail: '' })
  const reporter = reportToServer({
    active,
    breakGlass: { inForce: () => null },
    record: () => ({
      last_attempt_at: null,
      last_success_at: null,
      failing_since: null,
      last_error: null,
    }),
    probes: { all: results.all, assurance: () => assurance },
    async fetchFile({ body = '' }) {
      const report = deviceReportSchema.parse(JSON.parse(String(body)))
      sent.push(report)
      return answer(report)
    },
    version: '1',
    random: () => 0.5,
    uptime: () => performance.now(),
    log: { debug: () => {} },
  })
  onTestFinished(() => reporter.stop())
  const become = (name: Assurance['class']): void => {
    assurance = { class: name, reason: null }
    reporter.notice()
  }
  return { reporter, sent, become }
}

describe('the report of a machine', () => {
  it('names the assurance class, and each change of it', async () => {
    const { reporter, sent, become } = startReporter(() => BODY)

    reporter.notice()
    await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(1)
    become('linux-sandbox')
    await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(2)
    become('decisions-only')
    await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(3)

    const classes = sent.map(({ assurance }) => assurance)
    expect(classes).toEqual(['proxy-only', 'linux-sandbox', 'decisions-only'])
  })

  it('is sent without the class to a server that refuses the member', async () => {
    const { reporter, sent } = startReporter((report) =>
      report.assurance === undefined ? BODY : fault('http_status', 'the server answered 400'),
    )

    reporter.notice()

    await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(2)
    const { assurance, ...others } = sent[0] ?? { assurance: undefined }
    expect(assurance).toBe('proxy-only')
    expect(sent[1]).toEqual(others)
  })
})
