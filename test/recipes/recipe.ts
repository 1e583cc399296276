import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One change of a file that exists. */
export type Edit =
  /** Adds lines after the one line of the file that is `after`. */
  | { readonly file: string; readonly after: string; readonly add: string }
  /** Replaces a text that the file has once. */
  | { readonly file: string; readonly replace: string; readonly by: string }

/** The steps of a recipe of CONTRIBUTING.md, as a newcomer would take them. */
export interface Recipe {
  readonly name: string
  /** In the order of the recipe. The new files are in the folder `new` beside, as `PATH.txt`. */
  readonly edits: readonly Edit[]
  /** Tests to run with the recipe: its own, and those that a newcomer would change. */
  readonly tests: readonly string[]
  /** A part of the titles to run; absent for all tests of the files. */
  readonly titles?: string
}

/** The folder of recipes. A file of a recipe must not be taken for one of the project. */
const SUFFIX = '.txt'

/**
 * Applies a recipe to a copy of the sources, and returns the files that it writes. A stale step
 * throws with its name and the file.
 */
export function applyRecipe({ name, edits }: Recipe, copy: string): readonly string[] {
  const files = new Set(edits.map(({ file }) => file))
  const folder = join(import.meta.dirname, name, 'new')
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith(SUFFIX)) continue
    files.add(file.slice(0, -SUFFIX.length))
    const target = join(copy, file.slice(0, -SUFFIX.length))
    mkdirSync(dirname(target), { recursive: true })
    // A recipe must not replace a file.
    writeFileSync(target, readFileSync(join(folder, file)), { flag: 'wx' })
  }
  for (const edit of edits) {
    const path = join(copy, edit.file)
    const stale = (problem: string): Error =>
      new Error(`the recipe \`${name}\` is stale: ${edit.file} ${problem}`)
    writeFileSync(path, apply(edit, readFileSync(path, 'utf8'), stale))
  }
  return [...files]
}

function apply(edit: Edit, text: string, stale: (problem: string) => Error): string {
  if ('replace' in edit) {
    const [before, after, ...others] = text.split(edit.replace)
    if (before === undefined || after === undefined || others.length > 0)
      throw stale(`does not have \`${edit.replace}\` once`)
    return `${before}${edit.by}${after}`
  }
  const lines = text.split('\n')
  const at = lines.indexOf(edit.after)
  if (at < 0 || lines.includes(edit.after, at + 1))
    throw stale(`does not have the line \`${edit.after}\` once`)
  return lines.toSpliced(at + 1, 0, edit.add).join('\n')
}
