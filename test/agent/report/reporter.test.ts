import { deviceReportSchema, type DeviceReport } from '@palisade/protocol'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { describeEnforcement, describeReport } from '../../../agent/src/report/describe-report.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { createReporter, type Reporter } from '../../../agent/src/report/reporter.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

describe('the reporter', () => {
  let report: DeviceReport
  let sent: DeviceReport[]
  let answer: (signal: AbortSignal) => Promise<{ retryAfterMs: number | null } | null>
  let chance: number
  let reporter: Reporter

  beforeEach(() => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    report = { revision: 7, state: 'fresh', agent_version: '1' }
    sent = []
    chance = 0.5
    answer = async () => null
    reporter = createReporter({
      read: () => report,
      send(each, signal) {
        sent.push(each)
        return answer(signal)
      },
      random: () => chance,
      uptime: () => performance.now(),
    })
    onTestFinished(() => reporter.stop())
  })

  const change = (changed: Partial<DeviceReport>): void => {
    report = { ...report, ...changed }
    reporter.notice()
  }
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('reports simultaneous changes together, and sends no report without a change', async () => {
    change({ revision: 8 })
    change({ state: 'stale' })
    await pass(1_000)
    change({})
    await pass(HOUR_MS)

    expect(sent).toEqual([{ revision: 8, state: 'stale', agent_version: '1' }])
  })

  it('waits while many machines have the same report, then sends the present state', async () => {
    reporter.holdBack(4_000)
    change({ revision: 8 })
    await pass(2_000)
    change({ state: 'stale' })
    await pass(1_900)
    expect(sent).toEqual([])
    await pass(200)
    expect(sent).toEqual([{ revision: 8, state: 'stale', agent_version: '1' }])

    change({ state: 'fresh' })
    await pass(300)
    expect(sent).toHaveLength(2)
  })

  it('reports the start or end of a grant at once, even while it is held back', async () => {
    const break_glass = { grant_id: 'bgg_1', begun_at: '2026-11-01T00:00:00Z' }
    reporter.holdBack(HOUR_MS)
    change({ revision: 8 })
    await pass(1_000)
    expect(sent).toEqual([])

    change({ state: 'break_glass', break_glass })
    await pass(1_000)
    expect(sent.map(({ state }) => state)).toEqual(['break_glass'])

    reporter.holdBack(HOUR_MS)
    const { break_glass: _over, ...without } = report
    report = without
    change({ state: 'fresh' })
    await pass(1_000)
    expect(sent.map(({ state }) => state)).toEqual(['break_glass', 'fresh'])
  })

  it('is held back only once for a change, however often it is held back again', async () => {
    reporter.holdBack(10 * MINUTE_MS)
    change({ revision: 8 })
    for (let minutes = 0; minutes < 30; minutes += 3) {
      await pass(3 * MINUTE_MS)
      reporter.holdBack(10 * MINUTE_MS)
      change({ state: 'stale' })
      change({ state: 'fresh' })
    }

    expect(sent.map(({ revision }) => revision)).toContain(8)
  })

  it('reports again after six hours, plus or minus a tenth', async () => {
    chance = 0
    reporter.notice()
    await pass(5.3 * HOUR_MS)
    expect(sent).toHaveLength(1)
    chance = 1 - Number.EPSILON
    await pass(0.2 * HOUR_MS)
    expect(sent).toHaveLength(2)
    await pass(6.5 * HOUR_MS)
    expect(sent).toHaveLength(2)
    await pass(0.2 * HOUR_MS)
    expect(sent).toHaveLength(3)
  })

  it('retries a report that was not received, with new content and growing pauses', async () => {
    answer = async () => ({ retryAfterMs: null })
    chance = 1 - Number.EPSILON
    reporter.notice()
    await pass(1_000)
    for (let changed = 8; changed < 100; changed += 1) change({ revision: changed })
    await pass(5_000)
    expect(sent.map(({ revision }) => revision)).toEqual([7, 99])

    await pass(6 * HOUR_MS)
    const inSixHours = sent.length
    expect(inSixHours).toBeLessThan(40)
    answer = async () => null
    await pass(15 * MINUTE_MS)
    expect(sent).toHaveLength(inSixHours + 1)
    change({ revision: 100 })
    await pass(1_000)
    expect(sent.at(-1)?.revision).toBe(100)
  })

  it('stays away as long as the server asks', async () => {
    answer = async () => ({ retryAfterMs: 10 * MINUTE_MS })
    reporter.notice()
    await pass(9 * MINUTE_MS)
    expect(sent).toHaveLength(1)
    await pass(2 * MINUTE_MS)
    expect(sent).toHaveLength(2)
  })

  it('adds a random delay to that of the server, which many machines may share', async () => {
    answer = async () => ({ retryAfterMs: MINUTE_MS })
    chance = 1 - Number.EPSILON
    reporter.notice()
    await pass(MINUTE_MS + 4_000)
    expect(sent).toHaveLength(1)
    await pass(2_000)
    expect(sent).toHaveLength(2)
  })

  it('sends one report at a time, followed by later changes', async () => {
    let release = (): void => {}
    answer = () => new Promise((resolve) => (release = () => resolve(null)))
    reporter.notice()
    await pass(1_000)
    change({ revision: 8 })
    await pass(HOUR_MS)
    expect(sent).toHaveLength(1)

    release()
    await pass(1_000)

    expect(sent.map(({ revision }) => revision)).toEqual([7, 8])
    release()
  })

  it('stops at once, even during an attempt, and sends no more reports', async () => {
    answer = (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ retryAfterMs: null }))
      })
    reporter.notice()
    await pass(1_000)

    await reporter.stop()

    change({ revision: 8 })
    await pass(7 * HOUR_MS)
    expect(sent).toHaveLength(1)
  })
})

const ALONE = { agent_version: '1', grant: null }

describe('the report of a machine', () => {
  const active = { state: () => 'rejected' as const, revision: () => 7 }
  const detailOf = (message: string) =>
    describeReport(active, { last_error: { code: 'malformed', message } }, ALONE).error?.detail

  it('has an error while the last attempt failed', () => {
    expect(describeReport(active, { last_error: null }, ALONE)).toEqual({
      revision: 7,
      state: 'rejected',
      agent_version: '1',
    })
    expect(detailOf('not good')).toBe('not good')
  })

  it.each(['unreachable', 'timeout', 'stopping', 'busy'])(
    'omits an error that the server knows (%s), which a whole fleet would report at once',
    (code) => {
      const last_error = { code, message: 'away' }

      expect(describeReport(active, { last_error }, ALONE)).toEqual(
        describeReport(active, { last_error: null }, ALONE),
      )
    },
  )

  it('names the grant in force, but not its reason', () => {
    const begun_at = '2026-11-21T11:00:00Z'
    const grant = { id: 'g1', reason: 'r', issued_by: 'user:ann', begun_at, until: begun_at }

    const report = describeReport(active, { last_error: null }, { ...ALONE, grant })

    expect(deviceReportSchema.parse(report).break_glass).toEqual({ grant_id: 'g1', begun_at })
  })

  it('has no revision before the first bundle', () => {
    const none = { state: () => 'never_loaded' as const, revision: () => null }
    const report = describeReport(none, { last_error: null }, ALONE)
    expect(deviceReportSchema.parse(report)).toEqual({ state: 'never_loaded', agent_version: '1' })
  })

  it('shows a failed self-probe, and the digest of a policy in force only', () => {
    const { active: policy, use } = activePolicy()
    const probe = (ok: boolean) => ({ proxy: { at: '', ok, detail: 'x' } })
    const reported = (probes: Parameters<typeof describeEnforcement>[1]) => {
      const assurance = { class: 'proxy-only', reason: null } as const
      const enforcement = describeEnforcement(policy.enforced(), probes, assurance)
      const report = describeReport(policy, { last_error: null }, { ...ALONE, enforcement })
      const { enforcement: kept, ...others } = deviceReportSchema.parse(report)
      return [kept?.proxy, others.assurance, others.policy_digest]
    }

    expect(reported({ proxy: null })).toEqual([undefined, undefined, undefined])
    use(bundleOf(['allow', 'read', '/x']))
    const { digest } = bundleOf()
    expect(reported(probe(true))).toEqual(['in_force', 'proxy-only', digest])
    expect(reported(probe(false))).toEqual(['failed', 'proxy-only', digest])
    policy.apply({ kind: 'second_enrolment' })
    expect(reported(probe(true))).toEqual(['in_force', 'proxy-only', undefined])
  })

  it('contains no text that a server refuses', () => {
    expect(detailOf('a\nb\u202ec\u001b[2J')).toBe('a\ufffdb\ufffdc\ufffd[2J')
    expect(detailOf('x'.repeat(600))).toHaveLength(512)
    expect(detailOf(`${'x'.repeat(511)}😀`)).toBe('x'.repeat(511))
    expect(detailOf(`${'x'.repeat(510)}😀`)).toBe(`${'x'.repeat(510)}😀`)
  })
})
