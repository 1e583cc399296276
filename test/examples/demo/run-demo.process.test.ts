import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { processesIn } from '../../launcher/processes.ts'
import { start, startScript } from '../../launcher/started.ts'
import { removeDirectory } from '../../remove-directory.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

const rowsSchema = z.array(
  z.object({ what: z.string(), program: z.string(), said: z.string(), ok: z.boolean().nullable() }),
)

let folder: string
let env: Record<string, string>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'palisade-demo-test-'))
  mkdirSync(join(folder, 'tmp'))
  env = { TMPDIR: join(folder, 'tmp') }
})
afterEach(() => {
  removeDirectory(folder)
})

/** A copy of the root with other requests of the demo; built files are linked. */
function rootWith(change: (requests: Record<string, unknown>[]) => unknown): string {
  const root = join(folder, 'root')
  mkdirSync(join(root, 'examples'), { recursive: true })
  for (const name of ['packages', 'server', 'agent', 'node_modules'])
    symlinkSync(join(ROOT, name), join(root, name))
  cpSync(join(ROOT, 'examples', 'demo'), join(root, 'examples', 'demo'), { recursive: true })
  const file = join(root, 'examples', 'demo', 'requests.json')
  const requests = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>[]
  writeFileSync(file, JSON.stringify(change(requests)))
  return root
}

/** Runs the demo of a root, for its rows as JSON. */
function runDemo(root: string) {
  const script = `
    const { runDemo } = await import(${JSON.stringify(join(ROOT, 'examples/demo/run-demo.ts'))})
    const { execPath: node, env } = process
    process.exitCode = await runDemo({ root: ${JSON.stringify(root)}, node, env, json: true })`
  return startScript(['--input-type=module', '--eval', script], env).finished
}

describe('the demo', () => {
  it('fails and cleans up if outcomes differ from the expected ones', async () => {
    const root = rootWith((requests) => [
      {
        ...requests[0],
        what: 'wrong decision',
        expect: { decision: 'deny', reason: 'default_deny' },
      },
      {
        ...requests[0],
        what: 'wrong rule',
        expect: { decision: 'allow', reason: 'rule', rule: 'other' },
      },
      { ...requests[0], what: 'wrong queries', dns_queries: 'none' },
      { ...requests[0], what: 'no such server', target: 'http://packages.demo.test:9/' },
      requests[0],
    ])

    const run = await runDemo(root)

    expect(run).toMatchObject({ code: 1, stderr: '' })
    const rows = rowsSchema.parse(JSON.parse(run.stdout))
    const wrong = rows.filter((row) => row.ok !== true).map((row) => row.what)
    expect(wrong).toEqual(['wrong decision', 'wrong rule', 'wrong queries', 'no such server'])
    expect(rows.length).toBeGreaterThan(12)
    expect(readdirSync(join(folder, 'tmp'))).toEqual([])
  })

  it('skips the chapter in a sandbox, and succeeds, where none can be made', async () => {
    const root = rootWith((requests) => requests.slice(0, 1))
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const unshare = '#!/bin/sh\necho "unshare: unshare failed: Operation not permitted"; exit 1\n'
    writeFileSync(join(bin, 'unshare'), unshare, { mode: 0o755 })
    env['PATH'] = `${bin}:${process.env['PATH']}`

    const run = await runDemo(root)

    expect(run).toMatchObject({ code: 0, stderr: '' })
    const rows = rowsSchema.parse(JSON.parse(run.stdout))
    expect(rows.filter((row) => row.ok !== true)).toMatchObject([
      {
        what: 'chapter of the sandbox',
        said: expect.stringContaining('Operation not permitted'),
        ok: null,
      },
    ])
  })

  it('stops all processes and removes its files when it is interrupted', async () => {
    const started = start(['--demo'], env)
    await started.said('allowed host')
    const running = processesIn(join(folder, 'tmp'))
    started.child.kill('SIGINT')
    const run = await started.finished

    expect(run.code).toBe(130)
    expect(run.stderr).toBe('palisade: ended by SIGINT\n')
    expect(running.length).toBeGreaterThanOrEqual(2)
    expect(processesIn(join(folder, 'tmp'))).toEqual([])
    expect(readdirSync(join(folder, 'tmp'))).toEqual([])
  })

  it('refuses to run with fewer than two programs', async () => {
    const run = await start(['--demo'], { ...env, PATH: '/nowhere' }).finished

    expect(run.code).toBe(1)
    expect(run.stderr).toContain('the demo needs two programs; install curl or git')
    expect(readdirSync(join(folder, 'tmp'))).toEqual([])
  })
})
