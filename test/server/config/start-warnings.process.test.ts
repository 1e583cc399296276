import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

async function warningsOf(settings: Record<string, string>): Promise<string[]> {
  const server = await startServerProcess({
    PALISADE_DATA_DIR: join(temporaryDirectory(), 'data'),
    ...settings,
  })
  const { stdout } = await server.stop('SIGTERM')
  const lines = stdout.trimEnd().split('\n')
  return lines.flatMap((line) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string }
    // The machine of the tests may be overloaded.
    return level === 40 && !msg.startsWith('overloaded') ? [msg] : []
  })
}

const CLEAR_TEXT = expect.stringContaining('clear text')
const NO_ENROLMENT = expect.stringContaining('no machine can be enrolled')
const EMPTY = expect.stringContaining('palisade-server init')

describe('a start warns', () => {
  it.each([
    ['of an empty store', { PALISADE_HOST: '127.0.0.1' }, [EMPTY]],
    [
      'of plain HTTP beyond this machine, and of an unknown origin',
      { PALISADE_HOST: '0.0.0.0' },
      [CLEAR_TEXT, NO_ENROLMENT, EMPTY],
    ],
    [
      'only of plain HTTP when the origin is plain HTTP too',
      { PALISADE_HOST: '0.0.0.0', PALISADE_PUBLIC_URL: 'http://palisade.example.com' },
      [CLEAR_TEXT, EMPTY],
    ],
    [
      'of neither behind a proxy with TLS',
      { PALISADE_HOST: '0.0.0.0', PALISADE_PUBLIC_URL: 'https://palisade.example.com' },
      [EMPTY],
    ],
  ])('%s', async (_title, settings, expected) => {
    expect(await warningsOf(settings)).toEqual(expected)
  })

  it('not at all on loopback with an organization', async () => {
    const settings = { PALISADE_DATA_DIR: join(temporaryDirectory(), 'data') }
    await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)

    expect(await warningsOf(settings)).toEqual([])
  })
})

describe('a server on every address', () => {
  it('names the address that it listens on', async () => {
    const server = await startServerProcess({
      PALISADE_DATA_DIR: join(temporaryDirectory(), 'data'),
      PALISADE_HOST: '0.0.0.0',
    })

    expect(server.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/)
    await server.stop('SIGTERM')
  })
})
