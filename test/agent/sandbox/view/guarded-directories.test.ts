import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { putFile, viewScene } from '../../fixture/view-scene.ts'

async function scene() {
  const made = await viewScene()
  putFile(made, 'p/.vscode/a/x', 'p/.git/hooks/x', 'p/.git/HEAD', 'p/.git/objects/x', 'p/hooks/x')
  putFile(made, 'b.git/hooks/x', 'b.git/HEAD', 'b.git/objects/x', 'b.git/refs/x')
  putFile(made, 'p/.claude/worktrees/w/.git', 'p/.claude/worktrees/w/src/x', 'p/.husky/.git/HEAD')
  const open = (path: string, access: 'ro' | 'rw' = 'rw') =>
    made.plan([{ path: join(made.ws, path), access }])
  return { ...made, open }
}

it.each([
  'p/.vscode',
  'p/.vscode/a',
  'p/.git/hooks',
  'b.git/hooks',
  'p/.claude',
  'p/.husky',
  'link',
])(
  'a writable workspace in a directory that programs outside obey is refused: %s',
  async (path) => {
    const { open, ws } = await scene()
    symlinkSync('p/.vscode', join(ws, 'link'))

    await expect(open(path)).rejects.toThrow(/that programs outside obey; choose the directory of/)
    await expect(open(path, 'ro')).resolves.toMatchObject({ warnings: [] })
  },
)

it.each(['p', 'p/.git', 'p/hooks', 'b.git', 'p/.claude/worktrees/w', 'p/.claude/worktrees/w/src'])(
  'a workspace elsewhere, or in a working tree of its own, is opened: %s',
  async (path) => {
    const { open } = await scene()
    await expect(open(path)).resolves.toBeTruthy()
  },
)

it('a workspace is opened in such a directory whose name a rule spells', async () => {
  const { open, rule, ws } = await scene()
  rule(['allow', 'write', `${ws}/p/.vscode/**`])
  await expect(open('p/.vscode/a')).resolves.toBeTruthy()
  await expect(open('p/.git/hooks')).rejects.toThrow(
    `the workspace \`${ws}/p/.git/hooks\` is a directory that programs outside obey`,
  )
})
