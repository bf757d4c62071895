/**
 * Work on several objects of the cluster at a time: where one rejects, the others are not begun or their results are lost. What is done
 * for each must not reject, so every `await` in it is caught; or a helper gives each its outcome.
 */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      outcome:
        'One that rejects loses what becomes of the others: use forEachItem or forEachBestEffort of activities/for-each-item.ts, or settleAll of core/at-once.ts, or catch what fails inside.',
    },
  },
  create(context) {
    return {
      CallExpression(node) {
        const work = workOf(node);
        if (work !== undefined && !isCareful(declared(work, context.sourceCode.getScope(node))))
          context.report({ node, messageId: 'outcome' });
      },
    };
  },
};

/** What is done for each item: of `inBatches(items, work)` and `Promise.all(items.map(work))`. */
function workOf({ callee, arguments: [first, second] }) {
  if (callee.type === 'Identifier' && callee.name === 'inBatches') return second;
  const isAll =
    callee.type === 'MemberExpression' && callee.object.name === 'Promise' && callee.property.name === 'all';
  const isMapped = first?.type === 'CallExpression' && first.callee.property?.name === 'map';
  return isAll && isMapped ? first.arguments[0] : undefined;
}

/** The function that a name is declared as. */
function declared(work, scope) {
  if (work.type !== 'Identifier') return work;
  for (let at = scope; at !== null; at = at.upper) {
    const variable = at.set.get(work.name);
    if (variable !== undefined) return variable.defs[0]?.node.init ?? work;
  }
  return work;
}

/** A function that is written here, and in which nothing is waited for or returned that may reject. */
function isCareful(work) {
  if (!isFunction(work)) return false;
  if (work.body.type !== 'BlockStatement') return isCaught(work.body, false);
  return risks(work.body, false).length === 0;
}

const isFunction = ({ type }) => type === 'ArrowFunctionExpression' || type === 'FunctionExpression';

/** Every `await`, and every promise that is returned, that no `try` and no `.catch` is around. */
function risks(node, inTry) {
  if (node === null || typeof node?.type !== 'string' || isFunction(node)) return [];
  if (node.type === 'TryStatement') {
    const { block, handler, finalizer } = node;
    return [...risks(block, inTry || handler !== null), ...[handler, finalizer].flatMap((part) => risks(part, inTry))];
  }
  const own = node.type === 'AwaitExpression' && !isCaught(node.argument, inTry) ? [node] : [];
  const parts = Object.entries(node).filter(([key]) => key !== 'parent');
  return [...own, ...parts.flatMap(([, value]) => [value].flat().flatMap((part) => risks(part, inTry)))];
}

function isCaught(expression, inTry) {
  if (inTry) return true;
  const own = expression.type === 'AwaitExpression' ? expression.argument : expression;
  if (own.type === 'UnaryExpression') return isCaught(own.argument, inTry);
  return own.type === 'CallExpression' && own.callee.property?.name === 'catch';
}
