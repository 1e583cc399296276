import { readdirSync } from 'node:fs'
import { Counter, Gauge, type Registry } from 'prom-client'

/**
 * The resources that the process uses, under Prometheus' usual names. Every value is read on
 * request: prom-client's default metrics start observers that cannot be stopped.
 */
export function registerProcessMetrics(registry: Registry): void {
  const registers = [registry]
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })

  counter('process_cpu_seconds_total', 'CPU time of this process', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  counter('nodejs_eventloop_active_seconds_total', 'Time that the event loop was busy', () =>
    seconds(performance.eventLoopUtilization().active),
  )
  counter('nodejs_eventloop_idle_seconds_total', 'Time that the event loop was idle', () =>
    seconds(performance.eventLoopUtilization().idle),
  )
  gauge('process_start_time_seconds', 'Start time of the process since 1970', () =>
    seconds(performance.timeOrigin),
  )
  gauge('process_resident_memory_bytes', 'Resident memory of the process', () =>
    process.memoryUsage.rss(),
  )
  gauge(
    'nodejs_heap_used_bytes',
    'Memory used by JavaScript objects',
    () => process.memoryUsage().heapUsed,
  )
  if (countOpenFiles() !== null)
    gauge('process_open_fds', 'Open files and connections', () => countOpenFiles() ?? 0)
}

function seconds(ms: number): number {
  return ms / 1000
}

/** Null if the system does not provide it. */
function countOpenFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return null
  }
}
