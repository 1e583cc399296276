import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runCli } from '../run-cli.ts'
import { line, startAgent } from './httpjail-scene.ts'

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
})
