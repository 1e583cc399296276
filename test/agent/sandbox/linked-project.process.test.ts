import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startSandboxMachine } from './fixture/machine.ts'
import { opened } from './staged/opened-project.ts'

describe('a project behind a symbolic link', () => {
  it.each([[[]], [['--strict', '--apply']]])(
    'keeps the path of the person, with %j',
    async (options) => {
      const machine = await startSandboxMachine(opened)
      const link = join(dirname(machine.project), 'link')
      symlinkSync(machine.project, link)
      writeFileSync(join(machine.project, 'tool.sh'), 'echo tool\n')
      const line = `. ${link}/tool.sh; pwd; pwd -P; echo new >${link}/new`

      const ended = await machine.run([...options, '--', 'sh', '-c', line], link, { PWD: link })

      expect(ended).toMatchObject({ code: 0, stdout: `tool\n${link}\n${machine.project}\n` })
      expect(await machine.run(['--', 'cat', 'new'], link)).toMatchObject({ stdout: 'new\n' })
    },
  )
})
