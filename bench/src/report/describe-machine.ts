import { cpus, loadavg } from 'node:os'
import type { Results } from './results.ts'

/** Describes the machine of the run, for the results file. */
export function describeMachine(): Results['machine'] {
  const processors = cpus()
  return {
    node: process.versions.node,
    v8: process.versions.v8,
    processor: processors[0]?.model ?? 'unknown',
    processors: processors.length,
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}
