import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown, type OutputChunk } from 'rolldown'

/**
 * A program, bundled for browsers from the sources and minified, as a user of the package would do.
 */
export interface Bundle {
  readonly code: string
  readonly gzippedBytes: number
  /** Imports that remain in the bundle. */
  readonly imports: readonly string[]
  /** Files whose code is in the bundle, relative to the package's `src`. */
  readonly modules: readonly string[]
}

const ENTRY = 'virtual:program'
const SOURCES = fileURLToPath(new URL('../../packages/policy-core/src/', import.meta.url))

/** Bundles an ES module. As a script, its exports become `globalThis.program`. */
export async function bundle(program: string, form: 'module' | 'script'): Promise<Bundle> {
  const build = await rolldown({
    input: ENTRY,
    cwd: import.meta.dirname,
    platform: 'browser',
    tsconfig: false,
    resolve: { conditionNames: ['palisade-source'] },
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === ENTRY ? `${import.meta.dirname}/program.js` : null),
        load: (id) => (id.endsWith('/program.js') ? program : null),
      },
    ],
  })
  const format = form === 'module' ? 'es' : 'iife'
  const { output } = await build.generate({ format, name: 'program', minify: true })
  await build.close()
  if (output.length > 1) throw new Error('the program came out in several files')
  return describeChunk(output[0])
}

function describeChunk(chunk: OutputChunk): Bundle {
  const modules = Object.entries(chunk.modules)
    .filter(([id, { renderedLength }]) => id.startsWith(SOURCES) && renderedLength > 0)
    .map(([id]) => id.slice(SOURCES.length))
  return {
    code: chunk.code,
    gzippedBytes: gzipSync(chunk.code, { level: 9 }).length,
    imports: [...chunk.imports, ...chunk.dynamicImports],
    modules: modules.toSorted(),
  }
}
