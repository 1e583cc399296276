import { Counter, Gauge, Registry } from 'prom-client'
import type { StoreHook } from '../../store/store-hooks.ts'
import type { Overload } from '../overload/overload.ts'
import { createDurations } from './durations.ts'
import { registerProcessMetrics } from './process-metrics.ts'
import { exposeExports, type ExportFigures } from './export-metrics.ts'
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts'
import { createStoreMetrics } from './store-metrics.ts'

/** The counters of the server. There is no global state: every server has its own. */
export interface Metrics {
  readonly requests: RequestMetrics
  readonly store: StoreHook
  /** Runs `work` and counts how long signing took. */
  timeSigning<T>(purpose: 'access_token', work: () => Promise<T>): Promise<T>
  /** Shows `read()` as `palisade_queue_length{queue}`. */
  watchQueue(queue: string, read: () => number): void
  /** Shows how far the export of decision records is. */
  watchExports(read: () => ExportFigures): void
  /** Counts an attempt to sign in. */
  readonly observeSignIn: ReturnType<typeof createSignInMetrics>
  /** Shows how many machines are asked to wait, and why. */
  watchOverload(overload: Overload): void
  /** Everything, in the text format of Prometheus; concurrent calls share one rendering. */
  render(): Promise<string>
}

/** Media type of `Metrics.render`. */
export const METRICS_MEDIA_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

export function createMetrics(build: { readonly version: string }): Metrics {
  const registry = new Registry()
  registerBuild(registry, build.version)
  const requests = createRequestMetrics(registry)
  const store = createStoreMetrics(registry)
  const signing = createDurations(registry, {
    name: 'palisade_signing_seconds',
    help: 'Time to sign an access token',
    labelNames: ['purpose'],
  })
  const watchQueue = createQueueGauge(registry)
  registerProcessMetrics(registry)
  let rendering: Promise<string> | null = null

  return {
    requests,
    store,
    async timeSigning(purpose, work) {
      const startedMs = performance.now()
      try {
        return await work()
      } finally {
        signing.observe({ purpose }, (performance.now() - startedMs) / 1000)
      }
    },
    watchQueue,
    watchExports: (read) => exposeExports(registry, read),
    observeSignIn: createSignInMetrics(registry),
    watchOverload: (overload) => exposeOverload(registry, overload),
    render() {
      rendering ??= registry.metrics().finally(() => {
        rendering = null
      })
      return rendering
    },
  }
}

function registerBuild(registry: Registry, version: string): void {
  new Gauge({
    name: 'palisade_build_info',
    help: 'Always 1; the labels name the running versions',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1)
}

function createQueueGauge(registry: Registry): Metrics['watchQueue'] {
  const queues = new Map<string, () => number>()
  // oxlint-disable-next-line no-new -- it registers itself
  new Gauge({
    name: 'palisade_queue_length',
    help: 'Length of a queue of this server',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      for (const [queue, read] of queues) this.set({ queue }, read())
    },
  })
  return (queue, read) => void queues.set(queue, read)
}

/** `palisade_overload_delay_seconds`, `palisade_overload_share`, `palisade_turned_away_total` */
function exposeOverload(
  registry: Registry,
  overload: Pick<Overload, 'delayMs' | 'share' | 'turnedAway'>,
): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  gauge(
    'palisade_overload_delay_seconds',
    'Median delay of the event loop in the last second',
    () => overload.delayMs() / 1000,
  )
  gauge('palisade_overload_share', 'Share of polls that are told to retry later', () =>
    overload.share(),
  )
  // oxlint-disable-next-line no-new -- it registers itself
  new Counter({
    name: 'palisade_turned_away_total',
    help: 'Requests of devices that were told to retry later',
    registers,
    collect() {
      this.reset()
      this.inc(overload.turnedAway())
    },
  })
}

const KINDS = ['password', 'personal', 'organization', 'oidc'] as const
const RESULTS = ['ok', 'wrong_secret', 'throttled', 'failed'] as const

/**
 * `palisade_sign_ins_total`, with every label from the start, so that a first failure is a rise.
 */
function createSignInMetrics(
  registry: Registry,
): (kind: (typeof KINDS)[number], result: (typeof RESULTS)[number]) => void {
  const counter = new Counter({
    name: 'palisade_sign_ins_total',
    help: 'Sign-in attempts by kind of credential and result',
    labelNames: ['kind', 'result'],
    registers: [registry],
  })
  for (const kind of KINDS) for (const result of RESULTS) counter.inc({ kind, result }, 0)
  return (kind, result) => counter.inc({ kind, result })
}
