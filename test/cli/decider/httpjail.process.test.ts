import fc from 'fast-check'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf } from '../../agent/fixture/bundle.ts'
import { startLocalApi } from '../../agent/fixture/local-api.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { runCli } from '../run-cli.ts'

/** A request as httpjail 0.6.1 sends it. */
function line(url: string, method = 'GET'): string {
  const { protocol, host, pathname } = new URL(url)
  const request = { url, method, scheme: protocol.slice(0, -1), host, path: pathname }
  return `${JSON.stringify({ ...request, requester_ip: '127.0.0.1' })}\n`
}

async function startAgent() {
  const api = await startLocalApi(bundleOf(['allow', 'connect:tcp', 'allowed.test']), {
    'allowed.test': ['192.0.2.7'],
  })
  return { ...api, env: { PALISADE_AGENT_SOCKET: api.socketPath } }
}

/** Whether httpjail takes an answer for a denial: an object with `allow: false`. */
function messageOf(answer: string): string | null {
  if (answer === 'true') return null
  const { allow, deny_message } = JSON.parse(answer) as Record<string, unknown>
  return allow === false && typeof deny_message === 'string' ? deny_message : null
}

describe('palisade decider httpjail', () => {
  it('answers each line in order, with the allowed and the denied', async () => {
    const { env } = await startAgent()
    const stdin = [
      line('https://allowed.test/api?q=1'),
      line('https://other.test/', 'POST'),
      line('http://allowed.test:8080/'),
    ].join('')

    const { out, code } = await runCli(['decider', 'httpjail'], { env, stdin })

    const [first, second, third] = out.split('\n')
    expect(code).toBe(0)
    expect([first, third]).toEqual(['true', 'true'])
    expect(messageOf(second ?? '')).toMatch(
      /^Palisade: connect:tcp other\.test:443 denied, no rule allows it .* Do not retry/,
    )
  })

  it.each([
    ['a blank line', ''],
    ['no JSON', 'nonsense'],
    ['no object', '["https://allowed.test/"]'],
    ['no address', '{"host":"allowed.test"}'],
    ['another scheme', '{"url":"ftp://allowed.test/"}'],
    ['an address twice', '{"url":"https://other.test/","url":"https://allowed.test/"}'],
    ['a line of megabytes', `{"url":"https://allowed.test/${'x'.repeat(1_100_000)}"}`],
  ])('denies %s, and answers the next line', async (_name, bad) => {
    const { env } = await startAgent()
    const stdin = `${bad}\n${line('https://allowed.test/')}`

    const { out } = await runCli(['decider', 'httpjail'], { env, stdin })

    const [first = '', second] = out.split('\n')
    expect(messageOf(first)).toMatch(/^Palisade: denied, /)
    expect(second).toBe('true')
  })

  it('denies while no agent runs, and says how to start it', async () => {
    const env = { PALISADE_DATA_DIR: '/nonexistent' }

    const { out } = await runCli(['decider', 'httpjail'], {
      env,
      stdin: line('https://allowed.test/'),
    })

    expect(messageOf(out.trimEnd())).toContain('palisade-agent start')
  })

  it('allows no bytes but a request, and answers one line for each', async () => {
    const { env } = await startAgent()
    const anyLine = fc.oneof(
      fc.json(),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )
    const law = fc.asyncProperty(fc.array(anyLine, { maxLength: 8 }), async (lines) => {
      const texts = lines.map((each) => each.replaceAll('\n', ' '))
      const stdin = Buffer.from(texts.map((each) => `${each}\n`).join(''), 'latin1')

      const { out } = await runCli(['decider', 'httpjail'], { env, stdin })

      const answers = out.split('\n').slice(0, -1)
      expect(answers).toHaveLength(texts.length)
      for (const answer of answers) expect(messageOf(answer)).not.toBeNull()
    })
    await fc.assert(law, { numRuns: 60 })
  })

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
