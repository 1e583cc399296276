import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleClaims } from '../../fixture/bundle.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { opened } from './opened-project.ts'
import { reasonOf, strictScene, verdicts } from './strict-scene.ts'

describe('the copy-out of a strict sandbox', () => {
  it('case 82: does not copy out an allowed file that was renamed to a denied name', async () => {
    const scene = await strictScene(['deny', 'read', '/**/.env'], ['deny', 'write', '/**/*.lock'])
    scene.put('x', 'y', '.env')
    const id = await scene.stage('mv x .env; mv y a.lock; echo 1 >plain; cat .env')
    const applied = await scene.apply(id)
    expect(verdicts(applied, scene.project)).toEqual({
      '.env': 'refused',
      'a.lock': 'refused',
      plain: 'applied',
      x: 'applied',
      y: 'applied',
    })
    expect(reasonOf(applied, scene.at('.env'))).toContain('Rule 3')
    expect(reasonOf(applied, scene.at('a.lock'))).toContain('denies `write`')
    expect(applied.is_kept).toBe(true)
    expect(readFileSync(scene.at('.env'), 'utf8')).toBe('.env')
    expect(readdirSync(scene.project).toSorted()).toEqual(['.env', 'plain'])
  })

  it('keeps a directory whole that holds a hidden file', async () => {
    const scene = await strictScene(['deny', 'read', '/**/.env'])
    scene.put('d/.env', 'd/other', 'e/.env', 'e/other')
    const id = await scene.stage('rm -r d e; mkdir e; echo 1 >e/new')
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      d: 'refused',
      'e/.env': 'refused',
      'e/new': 'applied',
      'e/other': 'applied',
    })
    expect(readdirSync(scene.at('d')).toSorted()).toEqual(['.env', 'other'])
    expect(readdirSync(scene.at('e')).toSorted()).toEqual(['.env', 'new'])
  })

  it('keeps a hidden name that an earlier sandbox left, and no other', async () => {
    const scene = await strictScene()
    scene.put('d/.env.hidden-by-palisade', 'e/x.refused-by-palisade', 'f/y')
    const id = await scene.stage(
      'cat d/.env.hidden-by-palisade; mv d z; rm -r e; echo 1 >f/n.hidden-by-palisade',
    )
    const applied = verdicts(await scene.apply(id), scene.project)
    expect(applied).toMatchObject({ d: 'refused', e: 'applied' })
    expect(applied['f/n.hidden-by-palisade']).toBe('refused')
    expect(readFileSync(scene.at('d/.env.hidden-by-palisade'), 'utf8')).toBe(
      'd/.env.hidden-by-palisade',
    )
  })

  it('deletes what directories held that the command has made anew at any depth', async () => {
    const scene = await strictScene(['deny', 'read', '/**/.env'])
    scene.put('d/sub/old', 'd/sub/deep/old', 'd/sub/deep/.env', 'd/sub/deep/same')
    const id = await scene.stage(
      'rm -r d; mkdir -p d/sub/deep; echo 1 >d/sub/new; printf d/sub/deep/same >d/sub/deep/same',
    )
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      'd/sub/deep/.env': 'refused',
      'd/sub/deep/old': 'applied',
      'd/sub/new': 'applied',
      'd/sub/old': 'applied',
    })
    expect(readdirSync(scene.at('d/sub')).toSorted()).toEqual(['deep', 'new'])
    expect(readdirSync(scene.at('d/sub/deep')).toSorted()).toEqual(['.env', 'same'])
  })

  it('case 92: refuses names that other programs obey', async () => {
    const scene = await strictScene()
    scene.put('.git/config', '.git/HEAD')
    const id = await scene.stage(
      'mkdir .git/hooks .vscode sub sub/.git; echo 1 >.git/hooks/post-checkout; ' +
        'echo 1 >.vscode/tasks.json; echo 1 >>.git/config; echo / >.git/commondir; ' +
        'echo 1 >.git/HEAD; echo 1 >sub/.git/config; echo gitdir: / >other; mv other sub/x',
    )
    const found = verdicts(await scene.apply(id), scene.project)
    expect(found).toMatchObject({
      '.git/hooks/post-checkout': 'refused',
      '.git/hooks': 'refused',
      '.git/config': 'refused',
      '.git/commondir': 'refused',
      '.vscode/tasks.json': 'refused',
      'sub/.git/config': 'refused',
      '.git/HEAD': 'applied',
    })
    expect(existsSync(scene.at('.git/hooks'))).toBe(false)
    expect(existsSync(scene.at('.vscode'))).toBe(false)
  })

  it('refuses a link in place of a directory with guarded names', async () => {
    const scene = await strictScene()
    const id = await scene.stage(
      'mkdir o n; echo >o/hgrc; ln -s o .hg; ln -s ../o n/.hg; ln -s o l',
    )
    const applied = await scene.apply(id)
    expect(verdicts(applied, scene.project)).toMatchObject({
      '.hg': 'refused',
      'n/.hg': 'refused',
      l: 'applied',
    })
    expect(reasonOf(applied, scene.at('.hg'))).toContain('in place of a directory with guarded')
  })

  it('case 92: refuses parts of a repository that is not named .git', async () => {
    const scene = await strictScene()
    scene.put('.bare/HEAD', '.bare/objects/a', '.bare/refs/a', '.bare/config', 'tree/.git', 'plain')
    scene.put('one/HEAD', 'one/objects/a', 'one/refs/a')
    const id = await scene.stage(
      'mkdir .bare/hooks; echo 1 >.bare/hooks/post-checkout; echo 1 >>.bare/config; ' +
        'echo / >.bare/commondir; echo 1 >.bare/refs/a; echo gitdir: / >tree/.git; ' +
        'rm -r one; ln -s plain one; mkdir hooks; echo 1 >hooks/a; echo 1 >config',
    )
    const found = verdicts(await scene.apply(id), scene.project)
    expect(found).toMatchObject({
      '.bare/hooks/post-checkout': 'refused',
      '.bare/config': 'refused',
      '.bare/commondir': 'refused',
      '.bare/refs/a': 'applied',
      'tree/.git': 'refused',
      one: 'refused',
      'hooks/a': 'applied',
      config: 'applied',
    })
    expect(existsSync(scene.at('.bare/hooks'))).toBe(false)
    expect(readFileSync(scene.at('tree/.git'), 'utf8')).toBe('tree/.git')
  })

  it('case 92: refuses new repositories of any name, and what leads git to them', async () => {
    const scene = await strictScene()
    scene.put('half/config', 'half/hooks/a', 'half/objects/a', 'half/refs/a', 'half/plain')
    const id = await scene.stage(
      'mkdir -p new/objects new/refs new/hooks file link part; echo 1 >new/HEAD; ' +
        'echo 1 >new/config; echo 1 >new/other; echo gitdir: ../new >file/.git; ' +
        'ln -s ../new link/.git; ln -s new .git; echo 1 >half/HEAD; echo 1 >half/config; ' +
        'echo 1 >part/HEAD; echo / >part/commondir; ' +
        'mkdir -p clone/.git/objects clone/.git/refs; echo 1 >clone/.git/HEAD',
    )
    const found = verdicts(await scene.apply(id), scene.project)
    expect(found).toEqual({
      new: 'applied',
      'new/HEAD': 'refused',
      'new/config': 'refused',
      'new/hooks': 'refused',
      'new/objects': 'refused',
      'new/other': 'applied',
      'new/refs': 'refused',
      file: 'applied',
      'file/.git': 'refused',
      link: 'applied',
      'link/.git': 'refused',
      '.git': 'refused',
      'half/HEAD': 'refused',
      'half/config': 'refused',
      part: 'applied',
      'part/HEAD': 'refused',
      'part/commondir': 'refused',
      clone: 'applied',
      'clone/.git': 'applied',
      'clone/.git/HEAD': 'applied',
      'clone/.git/objects': 'applied',
      'clone/.git/refs': 'applied',
    })
    expect(readdirSync(scene.at('new'))).toEqual(['other'])
  })

  it('copies a huge file with holes in the space of its content', async () => {
    const scene = await strictScene()
    const id = await scene.stage(
      'truncate -s 1T holes; printf end | dd of=holes bs=1 seek=64G conv=notrunc status=none; ' +
        'truncate -s 1T empty; seq 200000 >dense; printf x >>holes',
    )
    expect((await scene.apply(id)).counts).toMatchObject({ applied: 3 })
    for (const name of ['holes', 'empty']) {
      const { blocks, size } = lstatSync(scene.at(name))
      expect(size).toBe(2 ** 40 + (name === 'holes' ? 1 : 0))
      expect(blocks).toBeLessThan(1_000)
    }
    const content = Buffer.alloc(3)
    const descriptor = openSync(scene.at('holes'), 'r')
    readSync(descriptor, content, 0, 3, 64 * 2 ** 30)
    closeSync(descriptor)
    expect(content.toString()).toBe('end')
    expect(readFileSync(scene.at('dense'), 'utf8').split('\n')).toHaveLength(200_001)
  })

  it('copies a link that stays in what policy grants, and no other', async () => {
    const scene = await strictScene(['deny', 'read', '/**/.env'])
    scene.put('.env', 'dir/file')
    const outside = await temporaryDirectory()
    symlinkSync(outside, scene.at('way'))
    const id = await scene.stage(
      'ln -s dir/file good; ln -s ../project/dir up; ln -s /usr/bin/env system; ' +
        'ln -s good chain; ln -s missing dangling; ' +
        `ln -s ${outside}/x absolute; ln -s ../agent/agent.sock agent; ln -s .env hidden; ` +
        'ln -s dir/../.env dots; ln -s way/x through; ln -s dir staged; ln -s staged/file far; ' +
        'ln -s agent lead; ln -s way led; ln -s led/x leading; ' +
        'ln -s round/x turn; ln -s turn round; ln -s staged/../.env hop',
    )
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      good: 'applied',
      up: 'applied',
      system: 'applied',
      chain: 'applied',
      dangling: 'applied',
      staged: 'applied',
      absolute: 'refused',
      agent: 'refused',
      hidden: 'refused',
      dots: 'refused',
      through: 'refused',
      far: 'applied',
      lead: 'refused',
      led: 'refused',
      leading: 'refused',
      turn: 'refused',
      round: 'refused',
      hop: 'refused',
    })
    expect(readlinkSync(scene.at('good'))).toBe('dir/file')
    expect(existsSync(scene.at('agent'))).toBe(false)
  })

  it('copies the links of a package manager, which lead through one another', async () => {
    const scene = await strictScene(['deny', 'write', '/**/shut/**'])
    scene.put('pkg/cli.js', 'member/x')
    const id = await scene.stage(
      'mkdir -p node_modules/.bin node_modules/shut; ln -s ../pkg node_modules/pkg; ' +
        'ln -s ../pkg/cli.js node_modules/.bin/pkg; ln -s pkg node_modules/alias; ' +
        'ln -s ../alias/cli.js node_modules/.bin/alias; ' +
        'ln -s ../../pkg node_modules/shut/pkg; ln -s ../shut/pkg/cli.js node_modules/.bin/other',
    )

    const applied = await scene.apply(id)

    expect(verdicts(applied, scene.project)).toMatchObject({
      'node_modules/pkg': 'applied',
      'node_modules/.bin/pkg': 'applied',
      'node_modules/alias': 'applied',
      'node_modules/.bin/alias': 'applied',
      'node_modules/shut/pkg': 'refused',
      'node_modules/.bin/other': 'refused',
    })
    expect(reasonOf(applied, scene.at('node_modules/.bin/other'))).toMatch(
      /leads through the staged link `.*shut\/pkg`, which is refused/,
    )
    expect(readFileSync(scene.at('node_modules/.bin/alias'), 'utf8')).toBe('pkg/cli.js')
  })

  it('tells of a change all that its path does not', async () => {
    const scene = await strictScene()
    scene.put('src/a', 'src/b/c', 'mode', 'edited', 'gone/a', 'plain')
    chmodSync(scene.at('mode'), 0o644)
    chmodSync(scene.at('edited'), 0o600)
    const id = await scene.stage(
      'rm -r src gone; echo 1 >src; ln -s src link; chmod 755 mode; echo 1 >edited; ' +
        'chmod 666 edited; echo 1 >run; chmod +x run; echo 1 >plain',
    )
    const { changes } = await scene.show(id)
    const details = changes.map(({ detail, path }) => [relative(scene.project, path), detail])
    expect(Object.fromEntries(details)).toEqual({
      edited: '600 to 666',
      gone: '2 objects go away',
      link: 'to `src`',
      mode: '644 to 755',
      plain: null,
      run: 'executable',
      src: '4 objects go away',
    })
  })

  it('refuses special files and setuid bits, and keeps no other bit', async () => {
    const scene = await strictScene()
    const id = await scene.stage(
      'mkfifo pipe; cp /usr/bin/true suid; chmod 4755 suid; mkdir d; chmod 2775 d; chmod +t d; ' +
        'echo 1 >run; chmod 751 run',
    )
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      pipe: 'refused',
      suid: 'refused',
      d: 'applied',
      run: 'applied',
    })
    expect(lstatSync(scene.at('d')).mode & 0o7777).toBe(0o775)
    expect(lstatSync(scene.at('run')).mode & 0o7777).toBe(0o751)
    expect(existsSync(scene.at('suid'))).toBe(false)
  })

  it('case 90: copies a name with a line break, and refuses one that is not UTF-8', async () => {
    const scene = await strictScene()
    const id = await scene.stage(
      String.raw`echo 1 >"$(printf 'one\ntwo')"; echo 2 >"$(printf 'bad\377')"`,
    )
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      'one\ntwo': 'applied',
      'bad\\xff': 'refused',
    })
    expect(readdirSync(scene.project)).toEqual(['one\ntwo'])
  })

  it('keeps what was changed outside since the start, and reports the conflict', async () => {
    const scene = await strictScene()
    scene.put('edited', 'removed', 'deleted', 'quiet', 'tree/a')
    const child = scene.run([
      '--strict',
      '--apply',
      '--',
      'sh',
      '-c',
      // `made` is the last change, so the ones outside come after all of them.
      'echo in >>edited; echo in >>removed; rm deleted; echo in >>quiet; rm -r tree; ' +
        // The overlay may remember that a name was missing, but it lists names anew.
        'echo in >made; until ls | grep -qx go; do sleep 0.05; done',
    ])
    await untilStaged(scene, 'made')
    writeFileSync(scene.at('edited'), 'outside')
    rmSync(scene.at('removed'))
    writeFileSync(scene.at('deleted'), 'outside')
    writeFileSync(scene.at('made'), 'outside')
    writeFileSync(scene.at('tree/b'), 'outside')
    writeFileSync(scene.at('go'), '')
    const ended = await child
    expect(ended.code).toBe(125)
    const { sessions } = await scene.sandboxes.staged.list()
    const left = await scene.show(sessions[0]?.id ?? '')
    expect(verdicts(left, scene.project)).toEqual({
      edited: 'conflict',
      removed: 'conflict',
      deleted: 'conflict',
      made: 'conflict',
      tree: 'conflict',
    })
    for (const name of ['edited', 'deleted', 'made', 'tree/b'])
      expect(readFileSync(scene.at(name), 'utf8')).toBe('outside')
    expect(readFileSync(scene.at('quiet'), 'utf8')).toBe('quietin\n')
    expect(existsSync(scene.at('removed'))).toBe(false)
  })

  it('leaves a directory closed that was closed outside since the start', async () => {
    const scene = await strictScene()
    scene.put('d/a')
    chmodSync(scene.at('d'), 0o755)
    const child = scene.run([
      '--strict',
      '--apply',
      '--',
      'sh',
      '-c',
      'echo in >d/new; until ls | grep -qx go; do sleep 0.05; done',
    ])
    await untilStaged(scene, 'd/new')
    chmodSync(scene.at('d'), 0o700)
    writeFileSync(scene.at('go'), '')
    expect((await child).code).toBe(125)
    expect(lstatSync(scene.at('d')).mode & 0o777).toBe(0o700)
    expect(readdirSync(scene.at('d')).toSorted()).toEqual(['a', 'new'])
    const { sessions } = await scene.sandboxes.staged.list()
    const left = await scene.show(sessions[0]?.id ?? '')
    expect(left.changes).toMatchObject([{ kind: 'mode', verdict: 'conflict', type: 'directory' }])
  })

  it('keeps the sticky and setgid bits of the directories outside', async () => {
    const scene = await strictScene()
    mkdirSync(scene.at('shared'))
    chmodSync(scene.at('shared'), 0o3777)
    const id = await scene.stage('mkdir shared/new; chmod 750 shared/new; chmod 0757 shared')
    expect((await scene.apply(id)).counts).toMatchObject({ applied: 2 })
    expect(lstatSync(scene.at('shared')).mode & 0o7777).toBe(0o3757)
    expect(lstatSync(scene.at('shared/new')).mode & 0o7777).toBe(0o2750)
  })

  it('does not follow a link that took the place of a directory', async () => {
    const scene = await strictScene()
    scene.put('dir/file', 'other/file')
    const id = await scene.stage('echo in >dir/file; echo in >dir/new; rm other/file')
    const outside = await temporaryDirectory()
    writeFileSync(`${outside}/file`, 'outside')
    utimesSync(`${outside}/file`, 0, 0)
    expect(verdicts(await scene.show(id), scene.project)).toMatchObject({ 'dir/new': 'allowed' })
    for (const name of ['dir', 'other']) {
      renameSync(scene.at(name), scene.at(`${name}.old`))
      symlinkSync(outside, scene.at(name))
    }
    const applied = await scene.apply(id)
    expect(verdicts(applied, scene.project)).toEqual({
      'dir/file': 'conflict',
      'dir/new': 'conflict',
      'other/file': 'conflict',
      dir: 'conflict',
      other: 'conflict',
    })
    expect(readdirSync(outside)).toEqual(['file'])
    expect(readFileSync(`${outside}/file`, 'utf8')).toBe('outside')
  })

  it('copies nothing into a workspace that was moved', async () => {
    const scene = await strictScene()
    const id = await scene.stage('echo 1 >new')
    renameSync(scene.project, `${scene.project}.old`)
    mkdirSync(scene.project)
    const applied = await scene.apply(id)
    expect(applied.changes).toMatchObject([{ path: scene.project, verdict: 'conflict' }])
    expect(readdirSync(scene.project)).toEqual([])
  })

  it('asks the policy of the copy-out, and copies nothing without one', async () => {
    const scene = await strictScene()
    const id = await scene.stage('echo 1 >late; echo 2 >fine')
    scene.use(opened(scene.project, ['deny', 'write', '/**/late']))
    expect(verdicts(await scene.show(id), scene.project)).toEqual({
      fine: 'allowed',
      late: 'refused',
    })
    scene.use(bundleClaims({ revision: 9 }))
    expect(verdicts(await scene.apply(id), scene.project)).toEqual({
      fine: 'refused',
      late: 'refused',
    })
    expect(readdirSync(scene.project)).toEqual([])
  })

  it.each(['read', 'write'] as const)(
    'copies nothing into a workspace that a new rule denies to %s',
    async (action) => {
      const scene = await strictScene()
      const id = await scene.stage('echo 1 >new; mkdir d; echo 2 >d/f')
      scene.use(opened(scene.project, ['deny', action, scene.project]))
      const applied = await scene.apply(id)
      expect(applied.counts).toMatchObject({ refused: 3, applied: 0 })
      expect(reasonOf(applied, scene.at('new'))).toContain(`denies \`${action}\``)
      expect(readdirSync(scene.project)).toEqual([])
    },
  )

  it('changes and deletes files with several names', async () => {
    const scene = await strictScene()
    scene.put('d/a', 'd/z', 'x', 'm')
    for (const [name, other] of [
      ['d/a', 'd/b'],
      ['x', 'y'],
      ['m', 'n'],
    ] as const)
      linkSync(scene.at(name), scene.at(other))
    const id = await scene.stage('rm -r d; rm x y; echo 1 >>m; echo 2 >>n')
    expect((await scene.apply(id)).counts).toMatchObject({ applied: 5, conflict: 0 })
    expect(readdirSync(scene.project).toSorted()).toEqual(['m', 'n'])
    expect(readFileSync(scene.at('n'), 'utf8')).toBe('m2\n')
  })

  it('puts directories, files and links in the place of one another', async () => {
    const scene = await strictScene()
    scene.put('dir/a', 'file', 'plain')
    symlinkSync('plain', scene.at('link'))
    const id = await scene.stage(
      'rm -r dir; echo 1 >dir; rm file; mkdir file; echo 2 >file/x; rm link; echo 3 >link; ' +
        'rm plain; ln -s link plain',
    )
    const applied = await scene.apply(id)
    expect(applied.counts).toMatchObject({ applied: 5, refused: 0, conflict: 0, failed: 0 })
    expect(readFileSync(scene.at('dir'), 'utf8')).toBe('1\n')
    expect(readFileSync(scene.at('file/x'), 'utf8')).toBe('2\n')
    expect(lstatSync(scene.at('link')).isFile()).toBe(true)
    expect(readlinkSync(scene.at('plain'))).toBe('link')
  })

  it('survives a workspace that the command has closed', async () => {
    const scene = await strictScene()
    const id = await scene.stage(
      'mkdir shut; echo 1 >shut/x; chmod 000 shut; echo 1 >y; chmod 000 .',
    )
    expect(verdicts(await scene.apply(id), scene.project)).toMatchObject({ y: 'applied' })
    expect(lstatSync(scene.project).mode & 0o777).not.toBe(0)
    const { sessions } = await scene.sandboxes.staged.list()
    for (const session of sessions) await scene.sandboxes.staged.discard({ id: session.id })
    expect(await scene.sandboxes.staged.list()).toEqual({ sessions: [] })
    expect(readdirSync(`${scene.agentDir}/staged`)).toEqual([])
    if (existsSync(scene.at('shut'))) chmodSync(scene.at('shut'), 0o700)
  })
})

/** Waits until a running command has made a file. */
async function untilStaged(
  scene: Awaited<ReturnType<typeof strictScene>>,
  name: string,
): Promise<void> {
  for (;;) {
    const { sessions } = await scene.sandboxes.staged.list()
    const [directory] = sessions[0]?.directories ?? []
    if (directory !== undefined && existsSync(`${directory}/${name}`)) return
    await new Promise((resolve) => void setTimeout(resolve, 20))
  }
}
