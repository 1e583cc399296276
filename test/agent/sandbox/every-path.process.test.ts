import {
  compilePolicy,
  decide,
  type CompiledPolicy,
  type FilesystemAction,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../agent/src/sandbox/view/disk.ts'
import { resolveWorkspaces } from '../../../agent/src/sandbox/view/workspace.ts'
import { isFullRun, seedOfRun } from '../../lanes/run-size.ts'
import { LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, policyOf, type RuleLine } from '../fixture/bundle.ts'
import { exists } from '../fixture/view-scene.ts'
import { startSandboxMachine, type SandboxMachine } from './fixture/machine.ts'

/** Workspaces of one sandbox, each with its policy and tree: few enough for all masks. */
const WORKSPACES = 10
const SANDBOXES = isFullRun() ? 200 : 2

/** Rules with patterns from the workspace on, and its files. */
interface Case {
  readonly rules: readonly RuleLine[]
  readonly files: readonly string[]
}

const NAMES = ['a', 'b', 'ab'] as const
/** Matched by a star alone. */
const OTHER_NAME = 'other'

function patterns(): fc.Arbitrary<string> {
  const part = fc.constantFrom('a', 'b', 'ab', 'a', 'b', '*', 'a*', '*b', '**')
  return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
}

/** Most open the workspace as a whole; the others do so in part, or only in appearance. */
function openings(): fc.Arbitrary<readonly RuleLine[]> {
  const read = (...resources: string[]): RuleLine => ['allow', 'read', ...resources]
  const write = (...resources: string[]): RuleLine => ['allow', 'write', ...resources]
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant([read('/**'), write('/**')]) },
    { weight: 2, arbitrary: fc.constant([read('/**')]) },
    fc.constantFrom<readonly RuleLine[]>(
      [],
      [read(''), write('')],
      [read('/*'), write('/*')],
      [read('', '/*'), write('', '/*')],
      [read('/**'), write('')],
      [read('', '/*', '/*/**'), write('', '/*/**', '/*')],
      [read('', '/*/**')],
    ),
  )
}

function cases(): fc.Arbitrary<Case> {
  const action = fc.constantFrom<FilesystemAction>('read', 'write')
  const decision = fc.constantFrom<RuleLine[0]>('deny', 'deny', 'deny', 'allow')
  const rule = fc.tuple(decision, action, patterns())
  const file = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
  return fc
    .tuple(openings(), fc.array(rule, { maxLength: 3 }), fc.array(file, { maxLength: 6 }))
    .map(([opened, rules, files]) => ({
      rules: [...opened, ...rules],
      files: withoutDirectories(files.map((names) => `/${names.join('/')}`)),
    }))
}

/** A name cannot be a file and a directory. */
function withoutDirectories(files: readonly string[]): readonly string[] {
  return [...new Set(files)].filter((file) => !files.some((other) => other.startsWith(`${file}/`)))
}

/** The answers of `decide` to every question about one workspace, as the language defines them. */
class Oracle {
  readonly root: string
  readonly #policy: CompiledPolicy
  readonly #allows: CompiledPolicy

  constructor(root: string, { rules }: Case) {
    this.root = root
    const policy = policyOf(...placed(root, rules))
    this.#policy = compilePolicy({ policies: [policy] })
    const allows = placed(root, rules).filter(([decision]) => decision === 'allow')
    this.#allows = compilePolicy({ policies: [policyOf(...allows)] })
  }

  /** The widest access with which the workspace may be opened. */
  access(): 'rw' | 'ro' | null {
    const isGranted = (action: FilesystemAction): boolean =>
      this.#isAllowed(action, this.root) &&
      pathsBelow(this.root).every(
        (path) => decide(this.#allows, { action, path }).decision === 'allow',
      )
    if (!isGranted('read')) return null
    return isGranted('write') ? 'rw' : 'ro'
  }

  /** Whether the path and every directory above it are allowed. */
  mayRead(path: string): boolean {
    return this.#upTo(path).every((each) => this.#isAllowed('read', each))
  }

  mayWrite(path: string): boolean {
    return this.mayRead(path) && !this.isWriteDenied(path)
  }

  isWriteDenied(path: string): boolean {
    return !this.#upTo(path).every((each) => this.#isAllowed('write', each))
  }

  #isAllowed(action: FilesystemAction, path: string): boolean {
    return decide(this.#policy, { action, path }).decision === 'allow'
  }

  #upTo(path: string): string[] {
    return path === this.root ? [path] : [...this.#upTo(dirname(path)), path]
  }
}

function placed(root: string, rules: readonly RuleLine[]): RuleLine[] {
  return rules.map(([decision, action, ...patterns]): RuleLine => [
    decision,
    action,
    ...patterns.map((pattern) => `${root}${pattern}`),
  ])
}

/** Paths at most four levels below, by names that patterns spell and by one that they do not. */
function pathsBelow(root: string, depth = 4): string[] {
  if (depth === 0) return []
  return [...NAMES, OTHER_NAME].flatMap((name) => {
    const path = `${root}/${name}`
    return [path, ...pathsBelow(path, depth - 1)]
  })
}

/** Reads and changes each file, makes each new one, and prints the files that it could read. */
const USE = String.raw`
for file do
  case $file in
    new:*) (: >"${'${file#new:}'}") 2>/dev/null ;;
    *)
      read -r text <"$file" && [ "$text" = "$file" ] && printf '%s\n' "$file"
      printf x >>"$file"
      ;;
  esac
done 2>/dev/null
exit 0
`

interface Opened {
  readonly oracle: Oracle
  readonly access: 'rw' | 'ro'
  readonly files: readonly string[]
  /** Names that do not exist, in directories that do. */
  readonly missing: readonly string[]
}

/** Makes the trees, compares the refusals with the oracle, and returns the granted workspaces. */
function openAll(machine: SandboxMachine, round: number, all: readonly Case[]): Opened[] {
  const roots = all.map((_, index) => join(machine.project, `${round}-${index}`))
  const rules = all.flatMap((each, index) => placed(roots[index] ?? '', each.rules))
  const bundle = bundleClaims({ policies: [policyOf(...rules)] })
  machine.use(bundle)
  const { active, use } = activePolicy()
  use(bundle)
  return all.flatMap((each, index) => {
    const root = roots[index] ?? ''
    mkdirSync(root)
    const files = each.files.map((file) => `${root}${file}`)
    for (const file of files) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, `${file}\n`)
    }
    const oracle = new Oracle(root, each)
    const access = oracle.access()
    for (const asked of ['ro', 'rw'] as const) {
      const judge = (): unknown =>
        resolveWorkspaces([{ path: root, access: asked }], {
          disk: createViewDisk(),
          active,
          home: '/home/nobody',
          privatePaths: [],
        })
      const isOpen = access === 'rw' || access === asked
      if (isOpen) judge()
      else expect(judge, JSON.stringify([asked, each.rules])).toThrow(/policy (?:denies|allows) `/)
    }
    if (access === null) return []
    const directories = new Set([root, ...files.map(dirname)])
    const missing = [...directories]
      .map((directory) => join(directory, OTHER_NAME))
      .filter((path) => !exists(path))
    return [{ oracle, access, files, missing }]
  })
}

/** The words of a command that uses every path of the workspaces. */
function wordsFor(opened: readonly Opened[], ...options: readonly string[]): readonly string[] {
  const workspaces = opened.flatMap(({ oracle, access }) => ['-w', `${oracle.root}:${access}`])
  const paths = opened.flatMap(({ files, missing }) => [
    ...files,
    ...missing.map((path) => `new:${path}`),
  ])
  return [...options, ...workspaces, '--', 'sh', '-c', USE, 'sh', ...paths]
}

function everyRound(
  use: (machine: SandboxMachine, opened: readonly Opened[]) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const machine = await startSandboxMachine(() => null)
    const seed = seedOfRun()
    const numRuns = SANDBOXES * WORKSPACES
    const all = fc.sample(cases(), { seed, numRuns })
    for (let round = 0; round < SANDBOXES; round += 1) {
      const some = all.slice(round * WORKSPACES, (round + 1) * WORKSPACES)
      await use(machine, openAll(machine, round, some))
    }
  }
}

/** The lines that a command printed, and the files that a policy lets it read. */
function expectReads(stdout: string, opened: readonly Opened[]): void {
  const readable = opened.flatMap(({ oracle, files }) => files.filter((f) => oracle.mayRead(f)))
  expect(stdout.split('\n').filter((line) => line !== '')).toEqual(readable)
}

describe('what a process in a sandbox can read and write ≡ what decide answers', () => {
  it(
    'by default, but for new names that a wildcard denies to read',
    { timeout: LAW_TIMEOUT_MS },
    everyRound(async (machine, opened) => {
      const [first] = opened
      if (first === undefined) return
      const { code, stdout } = await machine.run(wordsFor(opened), first.oracle.root)

      expect(code).toBe(0)
      expectReads(stdout, opened)
      for (const { oracle, access, files, missing } of opened) {
        const mayWrite = (path: string): boolean => access === 'rw' && oracle.mayWrite(path)
        for (const file of files)
          expect(readFileSync(file, 'utf8').endsWith('x'), file).toBe(mayWrite(file))
        const mustNotWrite = (path: string): boolean =>
          !mayWrite(path) && (access === 'ro' || oracle.isWriteDenied(path))
        expect(missing.filter((path) => mayWrite(path) && !exists(path))).toEqual([])
        expect(missing.filter((path) => mustNotWrite(path) && exists(path))).toEqual([])
      }
    }),
  )

  it(
    'with --strict',
    { timeout: LAW_TIMEOUT_MS },
    everyRound(async (machine, opened) => {
      const [first] = opened
      if (first === undefined) return
      const words = wordsFor(opened, '--strict')
      const { code, stdout } = await machine.run(words, first.oracle.root)
      const { staged } = machine.sandboxes
      const id = (await staged.list()).sessions.at(-1)?.id
      const { changes } = await staged.show({ id })
      await staged.discard({ id })

      expect(code).toBe(0)
      expectReads(stdout, opened)
      const granted = changes.filter(({ verdict }) => verdict === 'allowed').map(({ path }) => path)
      const writable = opened.flatMap(({ oracle, access, files, missing }) =>
        access === 'rw' ? [...files, ...missing].filter((path) => oracle.mayWrite(path)) : [],
      )
      expect(granted.toSorted()).toEqual(writable.toSorted())
    }),
  )
})
