// Lints the OpenAPI document that the server generates from its routes, without a listener. Run by
// the launcher.
import { createServer, openEvidenceStore, openSqliteStore, readConfig } from '@palisade/server'
import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDirectory } from '../remove-directory.ts'

const REDOCLY = join(import.meta.dirname, 'node_modules/@redocly/cli/bin/cli.js')

/** Turns off the linter's telemetry, and its check for a newer release. */
const WITHOUT_NETWORK = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

async function makeDocument(directory: string): Promise<string> {
  const store = openSqliteStore(join(directory, 'server.db'))
  const sources = {
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: randomBytes,
    newId: randomUUID,
  }
  const config = readConfig({}, directory)
  const evidence = await openEvidenceStore({ ...config, dataDir: directory })
  const server = await createServer({ config, sources, store, evidence, logger: false })
  try {
    return (await server.app.inject('/openapi.json')).body
  } finally {
    await server.close()
    await evidence.close()
    await store.close()
  }
}

/** Returns the exit code of the linter, which treats warnings as errors. */
async function lintDocument(directory: string): Promise<number> {
  const file = join(directory, 'openapi.json')
  // Indented, so that the linter can report lines.
  await writeFile(file, JSON.stringify(JSON.parse(await makeDocument(directory)), null, 2))
  const { status } = spawnSync(
    process.execPath,
    [REDOCLY, 'lint', '--extends=recommended-strict', 'openapi.json'],
    { cwd: directory, env: { ...process.env, ...WITHOUT_NETWORK }, stdio: 'inherit' },
  )
  return status ?? 1
}

if (existsSync(REDOCLY)) {
  const directory = await mkdtemp(join(tmpdir(), 'palisade-openapi-'))
  try {
    process.exitCode = await lintDocument(directory)
  } finally {
    removeDirectory(directory)
  }
} else process.stderr.write('the OpenAPI document is not linted: its linter is not installed\n')
