import { join } from 'node:path'
import { cloneOrganization } from '../fill/clone-organization.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import type { Load } from '../load/start-load.ts'
import { pollRequests } from '../requests.ts'
import { startServer } from './request-rows.ts'

export interface LargeResult {
  readonly organizations: number
  readonly policies_each: number
  readonly rules_each: number
  readonly fill_ms: number
  readonly start_ms: number
  /** Resident bytes after the start, at the peak, and after all views were served. */
  readonly start_rss: number
  readonly peak_rss: number
  readonly end_rss: number
  /** Views that were signed and served, one per organization, and the time for all of them. */
  readonly views: number
  readonly serve_ms: number
}

const SHAPE = { policies: 100, rulesPerPolicy: 50, editors: 1, devices: 1 } as const
const CONNECTIONS = 8
const SERVE_TIMEOUT_MS = 90_000

/** Measures a store of many organizations and requests each one's view once. */
export async function measureLarge(
  load: Load,
  folder: string,
  organizations: number,
): Promise<LargeResult> {
  const directory = join(folder, 'large')
  const started = performance.now()
  const [template] = await fillDataDirectory(directory, 'large', 1, SHAPE)
  if (template === undefined) throw new Error('no organization was created')
  const cloned = cloneOrganization(directory, template.org, organizations - 1)
  const fillMs = performance.now() - started

  const server = await startServer(directory)
  const startRss = server.rss().now
  const requests = pollRequests(cloned)
  await load.ask({ kind: 'define', set: 'large', requests })
  const report = await load.ask({
    kind: 'run',
    port: server.port,
    set: 'large',
    connections: CONNECTIONS,
    count: requests.length,
    timeoutMs: SERVE_TIMEOUT_MS,
  })
  const { peak, now } = server.rss()
  await server.stop()
  return {
    organizations,
    policies_each: SHAPE.policies,
    rules_each: SHAPE.rulesPerPolicy,
    fill_ms: fillMs,
    start_ms: server.startMs,
    start_rss: startRss,
    peak_rss: peak,
    end_rss: now,
    views: report.statuses['200'] ?? 0,
    serve_ms: report.elapsedMs,
  }
}
