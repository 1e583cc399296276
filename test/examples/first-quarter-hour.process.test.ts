import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../bench/src/process/free-port.ts'
import { BUILT_CLI, BUILT_SERVER } from '../built-programs.ts'
import { parseTranscript } from './transcript.ts'
import { removeDirectory } from '../remove-directory.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Runs `npm run -s NAME -- …` without npm and the launcher, which have tests of their own. */
const NPM = `#!/bin/sh
name=$3; shift 4
case $name in
palisade) exec '${process.execPath}' ${BUILT_CLI.join(' ')} "$@" ;;
palisade-server) exec '${process.execPath}' ${BUILT_SERVER.join(' ')} "$@" ;;
esac
`

/** Port of the page, which is replaced: a server of a reader may use it during the test. */
const PORT = '8430'

it('the first quarter of an hour prints the output of its page', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-quarter-'))
  onTestFinished(() => removeDirectory(directory))
  writeFileSync(join(directory, 'npm'), NPM)
  chmodSync(join(directory, 'npm'), 0o755)
  const page = readFileSync(join(ROOT, 'examples/first-quarter-hour.md'), 'utf8')
  expect(page).toContain(`PALISADE_PORT=${PORT}`)
  const steps = parseTranscript(page.replaceAll(PORT, String(await freePort())))

  const outputs = await runSteps(
    directory,
    steps.map(({ commands }) => commands),
  )

  expect(steps.length).toBeGreaterThan(6)
  for (const [index, { commands, output }] of steps.entries())
    expect(formOf(outputs[index] ?? ''), commands).toBe(formOf(output))
})

/**
 * Runs the steps one after another in one shell; resolves to the output of each on both streams.
 */
async function runSteps(directory: string, steps: readonly string[]): Promise<string[]> {
  const mark = '@@ end of step @@'
  // The background server must not outlive a step that fails, nor keep the output open.
  const script = [
    'set -e',
    "trap 'jobs -p | xargs -r kill' EXIT",
    ...steps.flatMap((commands) => [commands, `echo '${mark}'`]),
  ].join('\n')
  const shell = spawn('bash', ['-c', script], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${directory}:${process.env['PATH'] ?? ''}`, HOME: directory, TMPDIR: directory },
  })
  let text = ''
  const take = (chunk: Buffer): void => void (text += chunk.toString())
  shell.stdout.on('data', take)
  shell.stderr.on('data', take)
  const code = await new Promise<number | null>((resolve) => shell.on('close', resolve))
  expect(code, text).toBe(0)
  return text.split(`${mark}\n`)
}

/**
 * Replaces values that differ between runs: ids, hashes, instants, sizes, and the columns they
 * shift.
 */
function formOf(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/\b(pol|rule|req)_[0-9a-z]{24,28}\b/g, '<$1>')
    .replace(/\bpal_(pat|oat)_\w+/g, '<token>')
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z/g, '<instant>')
    .replace(/\S*\/palisade-quarter-\w+\/tmp\.\w+|\/tmp\/tmp\.\w+/g, '<here>')
    .replace(/\b\d+ rows, schema \d+(, \d+ bytes)?/g, '<size>')
    .replace(/ {2,}/g, '  ')
    .replace(/ +$/gm, '')
    .trim()
}
