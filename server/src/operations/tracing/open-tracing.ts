import type { TracingSettings } from './tracing-settings.ts'
import type { Log } from '../log/create-log.ts'
import { readVersion } from '../../platform/version.ts'
import type { Tracing } from './tracing.ts'

/** Null without settings. OpenTelemetry is loaded only when it is asked for. */
export async function openTracing(
  settings: TracingSettings | null,
  log: Log,
): Promise<Tracing | null> {
  if (settings === null) return null
  const { createTracing } = await import('./create-tracing.ts')
  return createTracing({ ...settings, version: readVersion(), log })
}
