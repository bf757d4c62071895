import { describe, expect, test } from 'vitest';
import { commandsOf } from '../shell.js';
import { newPage } from './page.js';
import { problemsOf } from './programs.js';

/** What is wrong with each command of a page. */
function problemsIn(script: string): readonly string[] {
  const page = newPage();
  return commandsOf(script).flatMap((command) => problemsOf(command, page));
}

describe('what pages may not show', () => {
  test.each<[string, string]>([
    ['terraform apply', 'is no program that the pages know'],
    ['kubectl gat pods', 'has no command gat pods'],
    ['kubectl get pods --watsch', 'has no flag --watsch'],
    ['kubectl get pods -o', '-o has no value'],
    ['kubectl get nodepool,nodeclasses', 'there is no kind nodeclasses'],
    ['kubectl -n stowage logs deploy/stowage-controller', 'there is no Deployment stowage-controller'],
    ['kubectl scale deployment web --replicas=2', 'there is no Deployment web'],
    ['kubectl apply -f examples/none.yaml', 'there is no file examples/none.yaml'],
    [
      'kubectl apply -f - <<EOF\napiVersion: stowage.dev/v1\nkind: DisruptionPause\nEOF',
      'there is no kind DisruptionPause of stowage.dev/v1',
    ],
    [
      'kubectl create clusterrolebinding a --clusterrole stowage-order',
      'deploy/rbac.yaml has no ClusterRole stowage-order',
    ],
    ['kubectl -n stowage exec deploy/stowage-operator -- helm lint', 'has no command lint'],
    ['helm install stowage deploy/charts', 'there is no chart deploy/charts'],
    ['helm install temporal temporal/temporal', 'there is no chart temporal/temporal'],
    ['helm upgrade stowage deploy/chart --set clusterNam=a', 'clusterNam: the chart has no such value'],
    ['helm upgrade stowage deploy/chart --set operator.replicas=two', 'operator.replicas is no integer: two'],
    ['helm upgrade stowage deploy/chart --set operator.replicas=0', 'operator.replicas is out of bounds: 0'],
    ['helm upgrade stowage deploy/chart --set size=huge', 'size is none of small, medium, large: huge'],
    ['helm upgrade stowage deploy/chart --set cloud.region=west', 'cloud.region does not match: west'],
    [
      'helm upgrade stowage deploy/chart --set settings.CLUSTER_NAME=a',
      'settings.CLUSTER_NAME: the chart takes no CLUSTER_NAME there',
    ],
    ['helm upgrade stowage deploy/chart --values own.yaml', 'there is no file own.yaml'],
    ['docker compose cp stowaway:/shared/a ./a', 'docker-compose.yml has no service stowaway'],
    ['docker build --tag a docs', 'there is no Dockerfile in docs'],
    ['docker buildx build --build-arg VERSIONS=1 .', 'the Dockerfile has no argument VERSIONS'],
    ['temporal workflow signal --workflow-id a --name approves', 'no workflow takes the signal approves'],
    ['temporal workflow update execute --workflow-id a --name expire', 'no workflow takes the update expire'],
    [`temporal workflow signal --workflow-id a --name reconsider --input '{a: 1}'`, 'the input is no JSON: {a: 1}'],
    [`temporal workflow terminate --query "StowageClusters = 'a'"`, 'there is no search attribute StowageClusters'],
    ['aws iam make-role', 'has no command iam make-role'],
    ['aws ec2 get-console-output --instance i-1', 'has no flag --instance'],
    [
      'aws cloudformation deploy --template-file deploy/iam-cloudformation.yaml --parameter-overrides Cluster=a NodeRoleName=b',
      'deploy/iam-cloudformation.yaml has no parameter Cluster',
    ],
    ['npm run demos', 'package.json has no script demos'],
    ['npm instal', 'npm has no command instal that the pages know'],
    ['node scripts/none.mjs', 'there is no scripts/none.mjs'],
    ['stowage plan --objects none.json', 'there is no file none.json'],
  ])('%s', (script, problem) => {
    const found = problemsIn(script);
    expect(found.map((each) => each.slice(-problem.length))).toEqual([problem]);
  });
});

test('what a page makes can be used further down, and not further up', () => {
  expect(problemsIn('stowage convert old/a.yaml > new.yaml\nkubectl diff -f new.yaml')).toEqual([]);
  expect(problemsIn('kubectl diff -f new.yaml\nstowage convert old/a.yaml > new.yaml')).toEqual([
    'kubectl diff -f new.yaml: there is no file new.yaml',
  ]);
  expect(problemsIn('kubectl create deployment web --image=a\nkubectl scale deployment web --replicas=2')).toEqual([]);
  expect(problemsIn('helm repo add temporal https://a\nhelm install temporal temporal/temporal')).toEqual([]);
});

test('names in capitals and what the shell puts in are the reader’s', () => {
  expect(
    problemsIn('kubectl drain NODE --ignore-daemonsets\nkubectl -n "$A" scale deployment NAME --replicas=0'),
  ).toEqual([]);
  expect(
    problemsIn('helm upgrade stowage deploy/chart --set clusterName=$CLUSTER,image.repository=REGISTRY/stowage'),
  ).toEqual([]);
  expect(
    problemsIn('aws ec2 create-tags --region "$REGION" --resources subnet-AAAA sg-CCCC --tags Key=a,Value=b'),
  ).toEqual([]);
});
