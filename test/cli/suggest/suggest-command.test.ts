import { describe, expect, it } from 'vitest'
import { runCli } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

describe('palisade suggest', () => {
  it('says what is wrong before it asks the server', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('old.yaml', 'policies: []')
    const setting = { home: directory.path, cwd: directory.path }

    for (const [argv, message] of [
      [['--from', 'logs'], 'Allowed choices are denials, observed'],
      [['--by', 'device'], 'Allowed choices are team, user, program'],
      [['--since', 'yesterday'], 'such as `30d`'],
      [['--min-devices', '0'], '`--min-devices` must be a whole number'],
      [['--out', 'x.yaml', '--json'], '`--out` writes YAML'],
      [['--out', 'old.yaml'], 'exists; name a new file'],
    ] as const) {
      const refused = await runCli(['suggest', ...argv], setting)
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(message)])
    }
  })
})
