// koa-compose's published types give Promise<void> and pull in Koa; what a layer returns flows through all the same.
declare module 'koa-compose' {
  type Layer<Context> = (context: Context, next: () => Promise<unknown>) => unknown
  export default function compose<Context>(layers: Layer<Context>[]): (context: Context) => Promise<unknown>
}
