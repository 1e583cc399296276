import { folderOf, importsOf } from './imports.ts'
import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

const IMPURE: readonly (readonly [RegExp, string])[] = [
  [/\bDate\b/, 'Date'],
  [/\bMath\.random\b/, 'Math.random'],
  [/\bconsole\b\s*\./, 'console'],
  [/\bfetch\s*\(/, 'fetch'],
  [/\bset(?:Timeout|Interval|Immediate)\b/, 'a timer'],
  [/\bprocess\b\s*\./, 'process'],
  [/\b(?:crypto|performance)\b\s*\./, 'crypto or performance'],
]

/** The evaluator must be pure: the same input gives the same answer in any environment. */
export function impurities(files: readonly SourceFile[]): Violation[] {
  return files.filter(isEvaluator).flatMap((file) => {
    const code = withoutComments(file.text)
    const uses = IMPURE.filter(([form]) => form.test(code)).map(([, name]) => `uses ${name}`)
    const imports = importsOf(file).filter((specifier) => specifier.startsWith('node:'))
    return [...uses, ...imports.map((specifier) => `imports ${specifier}`)].map(
      (problem) => `${file.path}: ${problem}`,
    )
  })
}

function isEvaluator(file: SourceFile): boolean {
  return ['packages/policy-core', 'packages/policy-analysis'].includes(folderOf(file.path))
}

/** The top level of a source may have only constants. */
export function topLevelVariables(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !isTest(file) && /^(?:export\s+)?(?:let|var)\s/m.test(file.text))
    .map((file) => `${file.path}: has a top-level variable`)
}

/** Only configuration files and entry points may read the environment. */
export function strayEnvironment(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !isTest(file) && !mayReadEnvironment(file.path))
    .filter((file) => /\bprocess\s*\.\s*env\b/.test(withoutComments(file.text)))
    .map((file) => `${file.path}: reads process.env`)
}

function mayReadEnvironment(path: string): boolean {
  return (
    path.startsWith('packages/launcher/') ||
    /\/src\/(?:main|config)\.ts$/.test(path) ||
    /\/src\/config\//.test(path)
  )
}

/** A path must not have a part that describes no content. */
export function emptyNames(paths: readonly string[]): Violation[] {
  const empty = /(?:^|[/-])(?:utils?|helpers?|common|shared|misc)(?:[/.-]|$)/i
  return paths.filter((path) => empty.test(path)).map((path) => `${path}: has a generic name`)
}

const TOP_LEVEL = new Set(
  `packages agent server bench test examples docs package.json pnpm-workspace.yaml pnpm-lock.yaml
  tsconfig.json vitest.config.ts README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md
  CHANGELOG.md LICENSE`.split(/\s+/),
)
const GENERATED = new Set(['node_modules', 'coverage'])

/** The top level may hold only the listed entries and dot files. */
export function strayTopLevel(entries: readonly string[]): Violation[] {
  return entries
    .filter((name) => !name.startsWith('.') && !GENERATED.has(name) && !TOP_LEVEL.has(name))
    .map((name) => `${name}: does not belong at the top level`)
}

function isTest(file: SourceFile): boolean {
  return ['test', 'bench'].includes(folderOf(file.path))
}

/** Good enough for a search: a `//` inside a string hides the rest of its line. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/\/\/.*$/gm, '')
}
