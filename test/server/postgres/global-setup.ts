import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { binariesOf } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Directory for PostgreSQL in this run; null without binaries for the platform.
     */
    readonly postgresDirectory: string | null
  }
}

/** Ends every cluster below the directory and removes the directory. */
const CLEAN_UP = `
  cat > /dev/null
  for file in "$0"/*/data/postmaster.pid; do
    [ -f "$file" ] || continue
    pid=$(head -n 1 "$file")
    kill -INT "$pid"
    while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
  done
  rm -rf "$0"`

/**
 * Provides a directory for PostgreSQL. The first test that needs a cluster starts it there. A shell
 * waits for any end of this process and then cleans up.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (binariesOf() === null) {
    process.stderr.write('no PostgreSQL for this platform: its tests are SKIPPED\n')
    project.provide('postgresDirectory', null)
    return () => Promise.resolve()
  }
  const directory = mkdtempSync(join(tmpdir(), 'palisade-postgres-'))
  chmodSync(directory, 0o755)
  project.provide('postgresDirectory', directory)
  const guard = spawn('sh', ['-c', CLEAN_UP, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  return async () => {
    guard.stdin?.end()
    await once(guard, 'close')
  }
}
