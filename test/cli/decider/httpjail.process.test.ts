import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { line, startAgent } from './httpjail-scene.ts'

describe('palisade decider httpjail', () => {
  it('answers each request before the next, as the program that ships', async () => {
    const { env } = await startAgent()
    const child = spawn(process.execPath, [...BUILT_CLI, 'decider', 'httpjail'], { env })
    onTestFinished(() => void child.kill())
    const answers = child.stdout.pipe(new PassThrough({ encoding: 'utf8' }))
    const ask = async (url: string): Promise<unknown> => {
      child.stdin.write(line(url))
      const [answer] = (await once(answers, 'data')) as [string]
      return answer
    }

    expect(await ask('https://allowed.test/')).toBe('true\n')
    expect(await ask('https://other.test/')).toContain('"allow":false')
    expect(await ask('https://allowed.test/')).toBe('true\n')
    child.stdin.end()
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
