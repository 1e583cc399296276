import { Gauge, Registry } from 'prom-client'
import type { Store } from '../../store/store.ts'
import type { Overload } from '../overload/overload.ts'
import { createDurations } from './durations.ts'
import { exposeOverload } from './overload-metrics.ts'
import { registerProcessMetrics } from './process-metrics.ts'
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts'
import { createSignInMetrics } from './sign-in-metrics.ts'
import { createStoreObserver } from './store-metrics.ts'

/** The counters of the server. There is no global state: every server has its own. */
export interface Metrics {
  readonly requests: RequestMetrics
  /** The same store, counted and timed. */
  observeStore(store: Store): Store
  /** Runs `work` and counts how long signing took. */
  timeSigning<T>(purpose: 'access_token', work: () => Promise<T>): Promise<T>
  /** Shows `read()` as `palisade_queue_length{queue}`. */
  watchQueue(queue: string, read: () => number): void
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
  const observeStore = createStoreObserver(registry)
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
    observeStore,
    async timeSigning(purpose, work) {
      const startedMs = performance.now()
      try {
        return await work()
      } finally {
        signing.observe({ purpose }, (performance.now() - startedMs) / 1000)
      }
    },
    watchQueue,
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
    help: 'Always 1; the labels say what runs',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1)
}

function createQueueGauge(registry: Registry): Metrics['watchQueue'] {
  const queues = new Map<string, () => number>()
  // oxlint-disable-next-line no-new -- it registers itself
  new Gauge({
    name: 'palisade_queue_length',
    help: 'What waits in a queue of this server',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      for (const [queue, read] of queues) this.set({ queue }, read())
    },
  })
  return (queue, read) => void queues.set(queue, read)
}
