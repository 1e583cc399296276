import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import type { CliRun } from '../run-cli.ts'
import { HOST_FORMS } from './hosts.ts'
import { casesOf, startScene } from './hook-scene.ts'

describe('palisade hook', () => {
  it('answers as the program that ships', async () => {
    const { work, env } = await startScene()
    const [first, second] = casesOf('claude', work)
    const run = async (input: unknown): Promise<CliRun> => {
      const child = spawn(process.execPath, [...BUILT_CLI, 'hook', 'claude'], { env })
      child.stdin.end(JSON.stringify(input))
      const ended = once(child, 'close')
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      return { code: child.exitCode ?? -1, out, err }
    }

    const passed = await run(first?.input)
    const denied = await run(second?.input)

    expect(passed).toEqual({ code: 0, out: '', err: '' })
    expect(HOST_FORMS['claude']?.denied(denied)).toContain(second?.because)
  })
})
