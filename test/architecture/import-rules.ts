import { folderOf, importsOf, packageOf, resolveRelative } from './imports.ts'
import type { SourceFile, WorkspacePackage } from './workspace.ts'

/** A violation of a rule as `file: problem`. */
export type Violation = string

/**
 * The one direction of imports: packages by name, and folders whose sources are imported by path. A
 * folder that is not named may import no other part.
 */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  'packages/policy-core': [],
  'packages/policy-analysis': ['@palisade/policy-core'],
  'packages/protocol': ['@palisade/policy-core'],
  'packages/client': ['@palisade/policy-core', '@palisade/protocol'],
  'packages/cli': [
    '@palisade/policy-core',
    '@palisade/policy-analysis',
    '@palisade/protocol',
    '@palisade/client',
  ],
  'packages/console': ['@palisade/policy-core', '@palisade/protocol', '@palisade/client'],
  'packages/launcher': ['examples/demo'],
  'examples/demo': ['packages/launcher'],
  server: ['@palisade/policy-core', '@palisade/policy-analysis', '@palisade/protocol'],
  agent: ['@palisade/policy-core', '@palisade/protocol', '@palisade/client'],
}

/** The one entry for internals of a package, by the folder that may import it. */
const INTERNALS: Readonly<Record<string, string>> = {
  'packages/policy-analysis': '@palisade/policy-core/internal',
}
const MAY_IMPORT_ALL = new Set(['test', 'bench'])

/** A package's manifest may name only parts below the package. */
export function wrongDependencies(packages: readonly WorkspacePackage[]): Violation[] {
  return packages
    .filter(({ folder }) => !MAY_IMPORT_ALL.has(folder))
    .flatMap(({ folder, dependencies }) =>
      dependencies
        .filter((name) => name.startsWith('@palisade/') && !ARROWS[folder]?.includes(name))
        .map((name) => `${folder}/package.json: depends on ${name}, which is not below it`),
    )
}

/** A source may import only parts below its own, and only by their package names. */
export function wrongArrows(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !MAY_IMPORT_ALL.has(folderOf(file.path)))
    .flatMap((file) => importsOf(file).flatMap((specifier) => wrongArrow(file, specifier)))
}

function wrongArrow(file: SourceFile, specifier: string): Violation[] {
  const folder = folderOf(file.path)
  const target = resolveRelative(file, specifier)
  if (target !== null)
    return folderOf(target) === folder || ARROWS[folder]?.includes(folderOf(target))
      ? []
      : [`${file.path}: reaches out of its package to ${target}`]
  const name = packageOf(specifier)
  if (!name.startsWith('@palisade/')) return []
  if (name !== specifier && INTERNALS[folder] !== specifier)
    return [`${file.path}: imports the inside of ${name}: ${specifier}`]
  return ARROWS[folder]?.includes(name)
    ? []
    : [`${file.path}: imports ${name}, which is not below it`]
}

/** The manifest of the importing package must declare a package import. */
export function undeclaredImports(
  files: readonly SourceFile[],
  packages: readonly WorkspacePackage[],
): Violation[] {
  const declared = new Map(packages.map((each) => [each.folder, new Set(each.dependencies)]))
  return files.flatMap((file) =>
    importsOf(file)
      .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
      .map(packageOf)
      .filter((name) => !declared.get(folderOf(file.path))?.has(name))
      .map((name) => `${file.path}: imports ${name}, which its package.json does not name`),
  )
}

/** Only two files may import tsyringe. */
export function strayTsyringe(files: readonly SourceFile[]): Violation[] {
  const allowed = new Set(['server/src/container.ts', 'agent/src/container.ts'])
  return files
    .filter((file) => !allowed.has(file.path) && importsOf(file).includes('tsyringe'))
    .map((file) => `${file.path}: imports tsyringe`)
}

/** Node 18 runs the JavaScript of the launcher, which therefore imports no TypeScript. */
export function strayTypeScript(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => folderOf(file.path) === 'packages/launcher' && file.path.endsWith('.mjs'))
    .filter((file) => importsOf(file).some((specifier) => specifier.endsWith('.ts')))
    .map((file) => `${file.path}: imports TypeScript`)
}

/** Cycles among files, each named once as `a -> b -> a`. */
export function importCycles(files: readonly SourceFile[]): Violation[] {
  const graph = new Map(files.map((file) => [file.path, targetsOf(file)]))
  const done = new Set<string>()
  const cycles: Violation[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' -> '))
    if (start >= 0 || done.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return cycles
}

function targetsOf(file: SourceFile): string[] {
  return importsOf(file)
    .map((specifier) => resolveRelative(file, specifier))
    .filter((target) => target !== null)
}
